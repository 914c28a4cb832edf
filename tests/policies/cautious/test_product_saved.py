"""A pricer of a product saved and loaded goes on as if nothing had happened, and draws nothing again."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.product_runs import PRODUCT, live, opened, seeded_system, serve
from tests.policies.saved_files import numbers, refusal, rewritten

from hushprice import Pricer, Quote
from hushprice.demand.schema import Boolean, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.noise import System, Tape
from hushprice.policies.cautious import saved as cautious_saved
from hushprice.policies.cautious.pricing.change import CHANGES, MINDED
from hushprice.policies.cautious.private.sums import IdealSums

STOPS = [0, 1, 40, 51, 52, 120]


def again(pricer: Pricer, path: Path) -> Pricer:
    pricer.save(path)
    return Pricer.load(path, simulation=True)


@functools.cache
def expected() -> list[float]:
    return serve(opened())


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("stop", STOPS)
def test_a_simulated_pricer_goes_on_with_the_same_prices(stop: int, tmp_path: Path) -> None:
    quotes: list[Quote] = []
    pricer = opened()
    prices = serve(pricer, stop=stop, quotes=quotes)
    loaded = again(pricer, tmp_path / "pricer")
    assert prices + serve(loaded, start=stop, quotes=quotes) == expected()


@pytest.mark.parametrize("stop", [40, 52])
def test_a_live_pricer_draws_nothing_again_and_nothing_more(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded_system(monkeypatch)
    whole = serve(live())
    seeded_system(monkeypatch)
    quotes: list[Quote] = []
    pricer = live()
    prices = serve(pricer, stop=stop, quotes=quotes)
    loaded = again(pricer, tmp_path / "pricer")
    assert type(loaded.source) is System
    assert prices + serve(loaded, start=stop, quotes=quotes) == whole


@pytest.mark.parametrize("make", [opened, live])
def test_what_is_loaded_saves_to_the_same_file(make: Any, tmp_path: Path) -> None:
    schema = Schema(attributes=(Number(name="age", low=18, high=98), Boolean(name="member")))
    product = replace(PRODUCT, contexts=0, schema=schema, step=0.5, most=2.0, holdout=0.1)
    pricer = make(product)
    for n in range(60):
        pricer.observe(pricer.quote({"age": 20 + n, "member": n % 3 == 0}).id, n % 3)
    loaded = again(pricer, tmp_path / "a")
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert loaded.policy == pricer.policy
    assert loaded.quoter.version == 1


def test_no_record_that_was_learned_is_in_the_file(tmp_path: Path) -> None:
    sizes = []
    for stop in (60, 90):  # in one batch
        pricer = opened(delay=0)
        serve(pricer, stop=stop)
        pricer.save(tmp_path / "pricer")
        sizes.append((tmp_path / "pricer").stat().st_size)
    assert sizes[1] - sizes[0] < 8 * 30  # less than one number a record


def test_the_state_does_not_print() -> None:
    state = cautious_saved.state_of(opened())
    assert repr(state) == str(state) == "State(<sensitive>)"
    assert repr(state.cautious) == "EngineState(<sensitive>)"
    assert state.cautious.__rich_repr__() == []


def test_a_release_that_was_drawn_and_not_yet_accepted_is_kept() -> None:
    """It is paid for: a restart between the draw and its acceptance must not draw it again."""
    engine, fresh = opened().engine, opened().engine
    engine.learner.skip(48)  # type: ignore[attr-defined]
    made = engine.learner.release()  # type: ignore[attr-defined]
    cautious_saved.restore_engine(cautious_saved.engine_state(engine), fresh)  # type: ignore[arg-type]
    assert fresh.learner.release().score.tolist() == made.score.tolist()  # type: ignore[attr-defined]
    assert fresh.learner.ended  # type: ignore[attr-defined]


@pytest.fixture(scope="module", params=[opened, live])
def content(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("cautious") / "pricer"
    pricer = request.param()
    serve(pricer, stop=70)
    pricer.save(path)
    return path.read_bytes()


FORGED: list[dict[str, Any]] = [
    {"engine": "noisy-newton"},
    {"policy.rules": None},
    {"policy.rules.noise.score": 1e-3},
    {"policy.rules.model.margin": 9.0},
    {"policy.product.floor": 11.0},
    {"policy.product.surprise": 1},
    {"policy.product.holdout": 0.2},
    {"policy.claimed": {"epsilon": 0.1, "delta": 1e-6}},
    {"cautious.learned": 5},
    {"cautious.learned": -1},
    {"cautious.learned": 1000},
    {"cautious.sums": b""},
    {"cautious.choice": 9},
    {
        "cautious.last": {
            "score": numbers(9),
            "descriptions": numbers(17),
            "earnings": numbers(2),
            "records": 3,
            "priced": 3,
        }
    },
    {"cautious.key": b"short"},
    {"cautious.switches": [30, 20]},
    {"cautious.switches": [0]},
    {"cautious.priced": 1000},
    {"cautious.past.0.rule.choice": 7},
    {"cautious.version": -1},
    {"cautious.version": 9},
    {"cautious.follows": 0},
    {"cautious.rule.count": 0},
    {"cautious.rule.spread": 3.0},
    {"cautious.rule.move": -1.0},
    {"cautious.rule.offset": 1.5},
    {"cautious.rule.offset": np.nan},
    {"cautious.belief.theta": numbers(6, value=np.inf)},
    {"cautious.origin.covariance": numbers(6)},
    {"cautious.changed": 5},
    {"cautious.batches.0.noise": -1.0},
    {"cautious.batches.0.score": numbers(8)},
    {"cautious.past.0.theta": numbers(5)},
    {"cautious.population.total": numbers(2)},
    {"cautious.population.count": 10**6},
    {"cautious.earned": numbers(3)},
    {"cautious.clipped": [9, 9]},
    {"clipped": [-1, 0, 0]},
    {"surprise": 1},
]


@pytest.mark.parametrize("change", FORGED, ids=lambda change: "-".join(change))
def test_a_body_that_save_could_not_have_written_is_refused(
    change: dict[str, Any], content: bytes, tmp_path: Path
) -> None:
    assert refusal(rewritten(content, change), tmp_path / "forged")


def test_the_forgeries_start_from_a_file_that_loads(content: bytes, tmp_path: Path) -> None:
    assert refusal(rewritten(content, {}), tmp_path / "sound") == ""


class OwnSums(IdealSums):
    """A releaser of one's own."""


def test_a_pricer_with_sums_of_ones_own_is_not_saved(tmp_path: Path) -> None:
    pricer = opened()
    pricer.learner.batch = OwnSums(sizes=(6, 17, 2), noise=(1.0, (1.0, 1.0)), source=Tape(0, 0))  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match=r"^batch is not one of hushprice's own"):
        pricer.save(tmp_path / "pricer")


def test_a_pricer_of_before_the_holdout_had_a_scale_of_its_own_goes_on_with_the_noise_it_had() -> None:
    """Written by that version, in the middle of a batch."""
    pricer = Pricer.load(Path(__file__).parent / "laplace_pricer.saved")
    noise = pricer.policy.rules.noise  # type: ignore[attr-defined]
    assert noise.holdout is None
    assert noise.earned == (noise.earnings, noise.earnings)
    assert pricer.learner.event.holdout_scale is None  # type: ignore[attr-defined]
    version = pricer.quoter.version
    assert version > 0
    for batch in pricer.quoter.past:  # written when small changes were not looked for: nothing is known of them
        assert len(batch.changes) == CHANGES
        assert [each.evidence for each in batch.changes[MINDED:]] == [0.0] * (CHANGES - MINDED)
    serve(pricer, stop=100)
    assert pricer.quoter.version > version


def test_a_pricer_of_before_there_was_laplace_noise_is_refused_in_one_clear_line() -> None:
    """Written by that version, in the middle of its second batch."""
    path = Path(__file__).parent / "gaussian_pricer.saved"
    with pytest.raises(InvalidInput) as told:
        Pricer.load(path, simulation=True)
    assert str(told.value) == f"path {str(path)!r} {cautious_saved.OUTDATED}"
    assert "cannot go on" in cautious_saved.OUTDATED
    assert "\n" not in str(told.value)
