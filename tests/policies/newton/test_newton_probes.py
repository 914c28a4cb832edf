"""Probes in live pricing: one price by every way of asking for it, and a tilt that is made anew from what is saved."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.policies.newton import newton_runs

from hushprice import Pricer, open_pricer
from hushprice.demand.families import Logistic
from hushprice.demand.features import Affine, by_name
from hushprice.errors import InvalidInput
from hushprice.noise import Tape
from hushprice.numerics.jit import COMPILED
from hushprice.policies.newton.pricing import probe
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.newton.rules import newton
from hushprice.privacy.budget import EpsilonDelta

THETA = np.array([0.1, 0.05, 0.9])
LONGEST = 3000


def confounded(cost: float = 0.0) -> NewtonQuoter:
    """A quoter whose belief was learned at one price, at the beginning of a probe."""
    features = by_name("intercept", 1)
    rules = newton(EpsilonDelta(2.0, 1e-9), demand=Logistic(), features=features, width=0.0, unit_cost=cost)
    quoter = NewtonQuoter(demand=Logistic(), features=features, rules=rules)
    quoter.theta, quoter.ready, quoter.version = THETA, True, 5
    best = quoter.price(np.zeros(1), 0.5)
    for x in np.linspace(-1.0, 1.0, 101):
        u, v = features.parts(np.array([x]))
        quoter.precision = quoter.precision + 100.0 * np.outer(u + best * v, u + best * v)
    quoter.inverse = np.linalg.inv(quoter.precision)
    quoter.follow(10_000)
    return quoter


def run_into_a_probe(pricer: Pricer) -> int:
    """Serve customers until the batch at hand is a probe; how many there were."""
    draws = np.random.default_rng(3)
    for n in range(LONGEST):
        if probe.is_on(pricer.quoter.tilt):
            return n
        x = draws.uniform(-1.0, 1.0, 1)
        quote = pricer.quote(x)
        u, v = by_name("intercept", 1).parts(x)
        buys = 1.0 / (1.0 + math.exp(-4.0 * float(THETA @ (u + quote.price * v))))
        pricer.observe(quote.id, float(draws.uniform() < buys))
    raise AssertionError("no probe")


def opened() -> Pricer:
    return open_pricer(
        horizon=LONGEST,
        contexts=1,
        features="intercept",
        epsilon=50.0,
        delta=1e-6,
        source=Tape(seed=5, trial=0),
        simulation=True,
    )


@pytest.mark.parametrize("cost", [0.0, 0.3])
def test_a_probe_is_shorter_and_its_customers_are_priced_elsewhere(cost: float) -> None:
    quoter = confounded(cost)
    assert probe.is_on(quoter.tilt)
    assert quoter.end < 15_000
    tilted = quoter.price(np.zeros(1), 0.5)
    quoter.tilt = np.zeros(3)
    still = quoter.price(np.zeros(1), 0.5)
    assert abs(tilted - still) > 0.02
    assert cost <= tilted <= 1.0


@pytest.mark.parametrize("cost", [0.0, 0.3])
def test_a_checked_context_has_the_same_price_in_a_probe(cost: float) -> None:
    quoter, draws = confounded(cost), np.random.default_rng(2)
    for x in draws.uniform(-1.0, 1.0, (20, 1)):
        uniform = float(draws.uniform())
        assert quoter.price_of_checked(x, uniform) == quoter.price(x, uniform)


def test_probes_take_turns_and_need_a_belief_worth_pricing_by() -> None:
    quoter = confounded()
    first = quoter.tilt.copy()
    quoter.version += 1
    quoter.follow(10_000)
    assert not np.any(quoter.tilt)
    assert quoter.end == 15_000
    quoter.version += 1
    quoter.follow(10_000)
    assert float(first @ quoter.tilt) < 0.0
    quoter.ready = False
    quoter.follow(10_000)
    assert not np.any(quoter.tilt)


@pytest.mark.skipif(not COMPILED, reason="thousands of customers, interpreted")
def test_a_pricer_saved_in_a_probe_goes_on_in_it(tmp_path: Path) -> None:
    pricer = opened()
    served = run_into_a_probe(pricer)
    pricer.quote(np.zeros(1))
    pricer.save(tmp_path / "pricer")
    loaded = Pricer.load(tmp_path / "pricer", simulation=True)
    assert loaded.quoter.tilt.tolist() == pricer.quoter.tilt.tolist()
    assert (loaded.quoter.end, loaded.quoter.look) == (pricer.quoter.end, pricer.quoter.look)
    contexts = np.random.default_rng(served).uniform(-1.0, 1.0, (200, 1))
    assert [loaded.quote(x).price for x in contexts] == [pricer.quote(x).price for x in contexts]


def test_a_checked_context_has_the_same_price_before_anything_is_known_and_with_features_of_ones_own() -> None:
    unknown = newton_runs.opened().quoter
    assert not unknown.ready
    own = Affine(2, 3, lambda x: np.append(x, 0.5), lambda x: np.array([0.0, 0.0, -1.0]), 2.0)
    plain = newton_runs.opened(features=own, contexts=None).quoter
    plain.ready = True
    for quoter in (unknown, plain):
        for x in newton_runs.CONTEXTS[:5]:
            assert quoter.price_of_checked(x, 0.3) == quoter.price(x, 0.3)


@pytest.mark.parametrize("size", [0, 2])
def test_a_checked_context_of_another_length_is_refused(size: int) -> None:
    """The compiled search would take the price's place for a feature's, or write past the end of its arrays."""
    with pytest.raises(InvalidInput, match=r"^context must have 1 entries"):
        confounded().price_of_checked(np.zeros(size), 0.5)
