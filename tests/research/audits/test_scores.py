"""Every score separates worlds made for it, and the choice falls on runs that were not fitted."""

from __future__ import annotations

import numpy as np
import pytest

from hushprice.research.audits.scores import SHRINKAGE, choose, fit_scores
from hushprice.types import FloatArray


def worlds(runs: int, periods: int, shift: float, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Independent normal prices; in the second world every other period is dearer, the rest cheaper."""
    generator = np.random.default_rng(seed)
    first, second = generator.normal(0.5, 0.1, (2, runs, periods))
    return first, second + shift * (-1.0) ** np.arange(periods)


@pytest.mark.parametrize("periods", [20, 300])  # fewer periods than runs, and more: two forms of one solution
def test_the_discriminant_is_the_ridge_solution(periods: int) -> None:
    first, second = worlds(40, periods, 0.1)
    every = np.concatenate([first, second])
    z = (every - every.mean(axis=0)) / every.std(axis=0)
    apart = z[:40].mean(axis=0) - z[40:].mean(axis=0)
    slow = z @ (np.linalg.inv(z.T @ z / 80 + SHRINKAGE * np.eye(periods)) @ apart)
    np.testing.assert_allclose(fit_scores(first, second)["linear discriminant"](every), slow, rtol=1e-6, atol=1e-9)


def test_each_score_is_chosen_in_a_world_made_for_it() -> None:
    def chosen(first: FloatArray, second: FloatArray) -> str:
        return choose(first[100:], second[100:], fit_scores(first[:100], second[:100])).name

    first, second = worlds(200, 30, 0.05)
    assert chosen(first, second) == "linear discriminant"  # averages are equal
    dearer = second + 0.0
    dearer[:, 0] += 0.9
    assert chosen(first, dearer) == "next price"
    late, early = np.full((2, 200, 30), 0.5)
    generator = np.random.default_rng(5)
    for row in range(200):
        late[row, 20 + row % 5 :] = generator.uniform(size=10 - row % 5)
        early[row, 2 + row % 5 :] = generator.uniform(size=28 - row % 5)
    assert chosen(late, early) == "first departure"
    few = generator.normal(0.5, 0.1, (2, 20, 30))  # twenty different runs a world, no pattern
    ours, theirs = (np.tile(each, (10, 1)) for each in few)
    assert choose(ours[100:], theirs[100:], {"seen": fit_scores(ours[:100], theirs[:100])["seen before"]}).cut < 1.0
    assert set(fit_scores(ours[:100], theirs[:100])["seen before"](ours[100:])) == {1.0}
    assert set(fit_scores(ours[:100], theirs[:100])["seen before"](first)) == {0.0}


def test_the_same_prices_in_every_run_score_the_same() -> None:
    same = np.full((40, 12), 0.3)
    for name, score in fit_scores(same, same).items():
        assert np.unique(score(same)).size == 1, name
    best = choose(same, same, fit_scores(same, same))
    assert not np.any(best.score(same) > best.cut)


def test_a_score_that_remembers_its_own_runs_is_not_believed() -> None:
    """Without a difference between the worlds, the best of five scores on 500 fresh runs gains under 0.15."""
    first, second = worlds(1200, 10, 0.0, seed=8)
    best = choose(first[200:700], second[200:700], fit_scores(first[:200], second[:200]))
    mine, other = best.score(first[700:]), best.score(second[700:])
    assert abs((mine > best.cut).mean() - (other > best.cut).mean()) < 0.15  # 4.7 standard errors
