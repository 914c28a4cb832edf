"""The two stories: they succeed without noise and fail with it. Intervals are missed with probability 0.001 or less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.errors import InvalidInput
from hushprice.research.audits.attack import Attack, attack_policies
from hushprice.research.audits.picture import attack_picture
from hushprice.research.audits.played_prices import price_watches
from hushprice.research.audits.stories import STORIES
from hushprice.simulation.market import paper_market

SURE = 0.999  # false alarms: one in a thousand, for all attacks of a call together


def attack(*policies: Any, **settings: Any) -> list[Attack]:
    common: dict[str, Any] = {"runs": 600, "horizon": 200, "workers": 1, "confidence": SURE}
    common["watchers"] = ["prices"]
    return attack_policies(policies, **common | settings)


@pytest.fixture(scope="module")
def attacks() -> list[Attack]:
    return attack("nonprivate", "paper@published", "paper@printed")


def test_without_noise_both_stories_come_true(attacks: list[Attack]) -> None:
    caught = [each for each in attacks if each.policy == "nonprivate"]
    assert [each.story for each in caught] == list(STORIES)
    for each in caught:
        assert each.low > 0.9
        assert each.allowed is None
        assert not each.refuted


def test_noise_keeps_the_watcher_below_what_is_allowed(attacks: list[Attack]) -> None:
    private = [each for each in attacks if each.policy == "paper"]
    assert len(private) == 4
    for each in private:
        assert each.claimed is not None
        assert each.claimed.epsilon == 1.0
        assert each.allowed is not None
        assert each.allowed < 0.13  # what is proven allows less than the claim, 0.462
        assert each.low < 0.1  # nothing was learned that could be told from luck
        assert each.high < 0.4621
        assert not each.refuted


def test_who_sees_releases_gains_more_than_nothing_and_no_more_than_is_allowed() -> None:
    ideal, live = attack("noisy-newton", watchers=["releases"], epsilon=4.0, runs=100, confidence=1 - 1e-6)
    assert 0.2 < ideal.low < ideal.advantage < ideal.high
    assert ideal.allowed is not None
    assert 0.8 * ideal.allowed < ideal.advantage < 1.2 * ideal.allowed
    assert not ideal.refuted
    assert (ideal.noise, live.noise, live.refuted) == ("simulated", "live", False)


def test_the_attack_is_strong_where_noise_is_weak() -> None:
    """The same policy with a budget a thousand times as large: the watcher is nearly always right."""
    (caught,) = attack("paper@published", epsilon=2000.0, stories=["purchase"])
    assert caught.low > 0.8


def test_a_policy_that_reads_nothing_tells_nothing() -> None:
    for each in attack("random", others="drawn"):
        assert each.allowed == 0.0
        assert each.low <= 0.0 <= each.high


def test_who_does_not_know_the_others_learns_less(attacks: list[Attack]) -> None:
    (drawn,) = attack("nonprivate", others="drawn", stories=["purchase"])
    assert drawn.high < attacks[0].low
    assert drawn.others == "drawn"


def test_the_answer_depends_on_the_seed_alone() -> None:
    once, again, other = (
        attack("paper", runs=60, seed=seed, workers=workers)[0] for seed, workers in ((1, 1), (1, 2), (2, 1))
    )
    assert once == again
    assert once != other


def test_the_worst_records_are_the_ones_watched() -> None:
    """Right after exploration, in corners: features of length 1, and at right angles for the two attributes."""
    features = paper_market(2).features
    for watch in price_watches(["nonprivate"], list(STORIES), horizon=200):
        assert watch.story.period == 11
        vectors = []
        for change in (watch.story.first, watch.story.second):
            u, v = features.parts(np.asarray(change.context))
            vectors.append(u + v)
        assert np.linalg.norm(vectors[0]) == pytest.approx(1.0)
        assert vectors[0] @ vectors[1] == pytest.approx(1.0 if watch.story.name == "purchase" else 0.0)


def test_the_picture_shows_every_policy_and_what_is_allowed(attacks: list[Attack]) -> None:
    axes = attack_picture(attacks).axes[0]
    assert [each.get_text() for each in axes.get_yticklabels()] == [
        "nonprivate",
        "paper (published)",
        "paper (printed)",
    ]
    bars = sorted({round(bar.get_width(), 3) for bar in axes.patches})
    assert bars[0] == 0.0
    assert len(bars) == 3
    assert "nothing is promised" in [each.get_text() for each in axes.texts]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": 7}, "runs must be a whole number at or above 8, got 7"),
        ({"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        ({"period": 200}, "period must lie before the horizon, 200, got 200"),
        ({"period": 0}, "period must be a whole number at or above 1, got 0"),
        ({"horizon": 1, "delta": 0.1}, "period must lie before the horizon, 1, got 1"),
        ({"others": "some"}, "others must be one of known, drawn, got 'some'"),
        ({"stories": ["age"]}, "story must be one of purchase, attribute, got 'age'"),
        ({"workers": 0}, "workers must be a whole number at or above 1, got 0"),
    ],
)
def test_what_no_run_could_honour_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        attack("nonprivate", **settings)
