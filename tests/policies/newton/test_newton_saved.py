"""A noisy-newton pricer saved and loaded goes on as if nothing had happened, and draws no released noise again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.newton.newton_runs import CONTEXTS, COUNT, bought, fail_draw, live, opened, seeded_system, serve
from tests.policies.saved_files import numbers, refusal, rewritten

from hushprice import Pricer, Quote
from hushprice.demand.families import Gaussian, Logistic
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import Affine
from hushprice.errors import InvalidInput
from hushprice.noise import System, Tape
from hushprice.policies.newton import saved as newton_saved
from hushprice.policies.newton.pricing import transition
from hushprice.policies.newton.private.batches import IdealBatch

STOPS = [0, 1, 5, 16, 17, 18, 19, 40, 61]


@pytest.fixture(autouse=True, scope="module")
def many_blocks() -> Iterator[None]:
    """Short batches have one block; here they have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transition, "BLOCKS", 1.0)
        yield


def again(pricer: Pricer, path: Path) -> Pricer:
    pricer.save(path)
    return Pricer.load(path, simulation=True)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("stop", STOPS)
def test_a_simulated_pricer_goes_on_with_the_same_prices(stop: int, tmp_path: Path) -> None:
    expected = serve(opened())
    quotes: list[Quote] = []
    pricer = opened()
    prices = serve(pricer, stop=stop, quotes=quotes)
    loaded = again(pricer, tmp_path / "pricer")
    assert prices + serve(loaded, start=stop, quotes=quotes) == expected


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("stop", STOPS)
def test_a_live_pricer_draws_nothing_again_and_nothing_more(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded_system(monkeypatch)
    expected = serve(live())
    seeded_system(monkeypatch)
    quotes: list[Quote] = []
    pricer = live()
    prices = serve(pricer, stop=stop, quotes=quotes)
    loaded = again(pricer, tmp_path / "pricer")
    assert prices + serve(loaded, start=stop, quotes=quotes) == expected


@pytest.mark.parametrize("make", [opened, live])
def test_what_is_loaded_saves_to_the_same_file(make: Any, tmp_path: Path) -> None:
    pricer = make(demand=Gaussian(noise=0.5), features="intercept")
    serve(pricer, {n: [n] for n in range(0, COUNT, 2)}, stop=50)
    again(pricer, tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("failing", [1, 2, 3, 4, 5])
def test_a_failed_draw_between_two_releases_survives_a_restart(
    failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curvature that was released before the score's draw failed is in the file, and is not released anew."""
    expected = serve(opened())
    calls = fail_draw(monkeypatch, failing)
    pricer, prices = opened(), []
    while len(prices) < COUNT:
        n = len(prices)
        try:
            quote = pricer.quote(CONTEXTS[n])
        except OSError:
            before = calls[0]
            pricer = again(pricer, tmp_path / "pricer")
            assert calls[0] == before
            continue
        prices.append(quote.price)
        pricer.observe(quote.id, bought(n, quote.price))
    assert calls[0] > failing
    assert prices == expected


def test_no_record_that_was_learned_is_in_the_file(tmp_path: Path) -> None:
    pricer = opened(delay=0)
    serve(pricer)
    pricer.save(tmp_path / "pricer")
    few = opened(delay=0)
    serve(few, stop=20)
    few.save(tmp_path / "few")
    more = (tmp_path / "pricer").stat().st_size - (tmp_path / "few").stat().st_size
    assert more < 8 * (COUNT - 20)  # less than one number a record


def test_the_state_does_not_print() -> None:
    state = newton_saved.state_of(opened())
    assert repr(state) == str(state) == "State(<sensitive>)"
    assert state.__rich_repr__() == []


@pytest.fixture(scope="module", params=[opened, live])
def content(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("newton") / "pricer"
    pricer = request.param()
    serve(pricer, stop=40)
    pricer.save(path)
    return path.read_bytes()


FORGED: list[dict[str, Any]] = [
    {"engine": "framework"},
    {"engine": "other"},
    {"policy.newton": None},
    {"policy.newton.noise.score": 1e-3},
    {"policy.newton.noise.curvature": 1e-3},
    {"policy.newton.noise.levels": 50},
    {"policy.newton.cap": -1.0},
    {"policy.claimed": {"epsilon": 0.1, "delta": 1e-6}},
    {"policy.basis.dimension": 2},
    {"newton.learned": 5},
    {"newton.learned": -1},
    {"newton.learned": 1000},
    {"newton.batch": b""},
    {"newton.batch": b"\x00" * 8},
    {"newton.level": -1},
    {"newton.level": 13},
    {"newton.blocks": -1},
    {"newton.blocks": 10**6},
    {"newton.curvature": {"numbers": numbers(2), "records": 3}},
    {"newton.curvature": {"numbers": numbers(6), "records": 10**6}},
    {"newton.curvature": {"numbers": numbers(6, value=np.nan), "records": 3}},
    {"newton.score": {"numbers": numbers(2), "records": 3}},
    {"newton.score": {"numbers": numbers(3), "records": 0}},
    {"newton.theta": numbers(2)},
    {"newton.theta": numbers(3, value=np.inf)},
    {"newton.theta": numbers(3, value=3.0)},
    {"newton.precision": numbers(3, 2)},
    {"newton.precision": numbers(3, 3, value=np.nan)},
    {"newton.inverse": numbers(9)},
    {"newton.version": 0},
    {"newton.version": -1},
    {"newton.version": 10**6},
    {"newton.follows": 0},
    {"newton.follows": 10**6},
    {"newton.look": 0},
    {"newton.look": 10**6},
    {"clipped": [-1, 0, 0]},
    {"newton.clipped": [-1, 0]},
    {"newton.clipped": [9, 9]},
    {"surprise": 1},
]


@pytest.mark.parametrize("change", FORGED, ids=lambda change: "-".join(change))
def test_a_body_that_save_could_not_have_written_is_refused(
    change: dict[str, Any], content: bytes, tmp_path: Path
) -> None:
    assert refusal(rewritten(content, change), tmp_path / "forged")


def test_the_forgeries_start_from_a_file_that_loads(content: bytes, tmp_path: Path) -> None:
    assert refusal(rewritten(content, {}), tmp_path / "sound") == ""


def test_a_live_file_is_not_made_a_simulated_one(tmp_path: Path) -> None:
    pricer = live()
    serve(pricer, stop=20)
    pricer.save(tmp_path / "live")
    forged = rewritten((tmp_path / "live").read_bytes(), {"tape": {"seed": 1, "trial": 1}})
    assert "saved batch" in refusal(forged, tmp_path / "forged")


class OwnBatch(IdealBatch):
    """A releaser of one's own."""


class OwnLogistic(Logistic):
    """A family of one's own."""

    family = CUSTOM


class OwnTape(Tape):
    """A source of one's own."""


def test_a_pricer_with_parts_of_ones_own_is_not_half_saved(tmp_path: Path) -> None:
    own_map = Affine(2, 3, lambda x: np.append(x, 0.0), lambda x: np.array([0.0, 0.0, -1.0]), 2.0, name="main")
    for part, value in {"demand": OwnLogistic(), "features": own_map, "source": OwnTape(1, 1)}.items():
        with pytest.raises(InvalidInput, match=f"^{part} is not one of hushprice's own"):
            opened(**{part: value}).save(tmp_path / "pricer")
    pricer = opened()
    pricer.learner.batch = OwnBatch(dimension=3, score_noise=1.0, curvature_noise=1.0, source=Tape(0, 0))
    with pytest.raises(InvalidInput, match=r"^batch is not one of hushprice's own"):
        pricer.save(tmp_path / "pricer")
    assert not list(tmp_path.iterdir())


def test_a_loaded_live_pricer_uses_the_operating_systems_noise(tmp_path: Path) -> None:
    loaded = again(live(), tmp_path / "pricer")
    assert type(loaded.source) is System


def test_a_score_that_was_drawn_and_not_yet_accepted_is_kept() -> None:
    """It is paid for: a restart between the draw and its acceptance must not draw it again."""
    engine, fresh = opened().engine, opened().engine
    learner, quoter = engine.learner, engine.quoter
    while learner.count < quoter.look:
        learner.absorb(np.full(3, 0.4), 1.0, quoter.theta, quoter.inverse)
    curvature, score = learner.curvature(), learner.score()
    newton_saved.restore_engine(newton_saved.engine_state(engine), fresh)
    assert fresh.learner.score().score.tolist() == score.score.tolist()
    assert fresh.learner.curvature().packed.tolist() == curvature.packed.tolist()
    assert fresh.learner.ended
