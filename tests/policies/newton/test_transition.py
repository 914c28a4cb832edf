"""The transition of noisy-newton by itself: when a batch ends, what it counts, and that older files still load."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from tests.policies.newton.newton_runs import opened, serve

from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.numerics.linear import packed_size
from hushprice.policies.newton import saved
from hushprice.policies.newton.pricing import transition
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.newton.rules import EARLY, newton
from hushprice.policies.saved_pricer import array, plain
from hushprice.privacy.budget import EpsilonDelta
from hushprice.releases import CurvatureRelease, ScoreRelease

FEATURES = main_effects(1)
RULES = replace(newton(EpsilonDelta(5.0, 1e-6), demand=Logistic(), features=FEATURES), first=300)
FULL = np.zeros(packed_size(2))  # a curvature that multiplies every precision
FULL[[0, -1]] = 1e4


def made() -> NewtonQuoter:
    quoter = NewtonQuoter(demand=Logistic(), features=FEATURES, rules=RULES)
    assert quoter.look < quoter.end  # there is something to look at on the way
    return quoter


def releases(quoter: NewtonQuoter, packed: np.ndarray) -> tuple[ScoreRelease, CurvatureRelease]:
    event = opened().learner.event
    return ScoreRelease(np.zeros(2), quoter.look, event), CurvatureRelease(packed, quoter.look, event)


def test_a_batch_ends_early_at_most_so_often() -> None:
    quoter = made()
    _, curvature = releases(quoter, FULL)
    assert quoter.ends(curvature)
    quoter.ended_early = EARLY
    assert not quoter.ends(curvature)
    quoter.ended_early = EARLY - 1
    assert quoter.ends(curvature)


def test_asking_twice_counts_nothing_and_accepting_counts_once() -> None:
    quoter = made()
    score, curvature = releases(quoter, FULL)
    assert quoter.ends(curvature)
    assert quoter.ends(curvature)
    assert quoter.ended_early == 0
    quoter.accept(score, curvature)
    assert (quoter.ended_early, quoter.version, quoter.batch) == (1, 1, curvature.records)


def test_a_batch_that_ends_at_its_latest_slot_is_not_early() -> None:
    quoter = made()
    while quoter.look < quoter.end:
        assert not quoter.ends(releases(quoter, 0.0 * FULL)[1])
        quoter.go_on()
    score, curvature = releases(quoter, 0.0 * FULL)
    assert quoter.ends(curvature)
    quoter.accept(score, curvature)
    assert (quoter.ended_early, quoter.version) == (0, 1)


def test_the_same_numbers_are_behind_the_attributes() -> None:
    quoter = made()
    assert quoter.progress[[transition.BATCH, transition.END]].tolist() == [quoter.batch, quoter.end]
    assert not quoter.ready
    quoter.ready = True
    assert quoter.progress[transition.READY] == 1


@pytest.mark.parametrize("early", [0, 1])
def test_a_state_from_before_early_ends_were_counted_is_read(early: int) -> None:
    pricer = opened()
    serve(pricer)
    pricer.quoter.ended_early = early
    body = msgspec.msgpack.encode(saved.engine_state(pricer.engine), enc_hook=plain)
    fields = msgspec.msgpack.decode(body)
    assert fields["early"] == early
    whole = msgspec.msgpack.decode(body, type=saved.EngineState, dec_hook=array)
    del fields["early"]
    older = msgspec.msgpack.decode(msgspec.msgpack.encode(fields), type=saved.EngineState, dec_hook=array)
    for state, expected in ((whole, early), (older, 0)):
        other = opened()
        saved.restore_engine(state, other.engine)
        assert other.quoter.ended_early == expected
        assert other.quoter.version == pricer.quoter.version
