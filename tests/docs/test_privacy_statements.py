"""Each statement of docs/reference/privacy.md that carries a mark, as a test of that name."""

from __future__ import annotations

import re
import stat
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest
from tests.priors import CLAIMED, prior_for

from hushprice import Pricer, Product, open_pricer, simulate
from hushprice.demand.families import Gaussian, Poisson
from hushprice.errors import BudgetExhausted, DidNotConverge, InvalidInput, RepeatedOutcome
from hushprice.noise import System, Tape
from hushprice.policies.paper import tolerance
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.privacy.accountant import epsilon_of
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.customers import guarantee_of
from hushprice.privacy.events import NotPrivate
from hushprice.privacy.ledger import loss_of_all
from hushprice.records import Records
from hushprice.releases import EstimateRelease
from hushprice.slots import Observation

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "privacy.md"


class Counted(Tape):
    """A tape that counts how often it is asked."""

    asked = 0

    def normals(self, stream, period, count):
        Counted.asked += 1
        return Tape.normals(self, stream, period, count)


def simulated(horizon=40, seed=1, **settings) -> Pricer:
    return open_pricer(
        **{"policy": "paper", "horizon": horizon, "contexts": 1, "source": Counted(seed, 0), "simulation": True}
        | settings
    )


def serve(pricer: Pricer, customers: int) -> list[float]:
    prices = []
    for x in np.linspace(-1.0, 1.0, customers):
        quote = pricer.quote([x])
        pricer.observe(quote.id, float(x > 0))
        prices.append(quote.price)
    return prices


def test_the_page_and_this_file_name_the_same_tests():
    marked = re.findall(r"✔\s+`(test_\w+)`", PAGE.read_text())
    here = [name for name in globals() if name.startswith("test_")]
    assert sorted(marked) == sorted(set(here) - {"test_the_page_and_this_file_name_the_same_tests"})


def test_the_ledger_names_its_neighbours():
    assert simulated().ledger.adjacency is Adjacency.REPLACE_ONE


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_what_is_proven_is_the_accountants_figure(calibration):
    result = simulate("paper", horizon=40, trials=1, workers=1, calibration=calibration)
    ledger = open_pricer(policy="paper", horizon=40, contexts=1, calibration=calibration).ledger
    epsilon = epsilon_of(loss_of_all(ledger.allowance, ledger.adjacency), ledger.claimed.delta)
    assert result.claimed == ledger.claimed
    assert result.proven == ledger.proven
    assert result.proven.epsilon == epsilon <= result.claimed.epsilon
    assert result.to_dict()["privacy"]["proven"] == {"epsilon": epsilon, "delta": ledger.claimed.delta}
    if calibration == "tight":
        assert epsilon == pytest.approx(result.claimed.epsilon, rel=1e-6)


def test_a_claim_that_is_not_proven_is_refused():
    for calibration, demand in (("published", Gaussian(noise=0.3)), ("printed", Poisson(slope=3.0))):
        with pytest.raises(InvalidInput, match=f"calibration '{calibration}' does not fit this market"):
            open_pricer(policy="paper", horizon=1000, contexts=1, calibration=calibration, demand=demand)
        assert open_pricer(policy="paper", horizon=1000, contexts=1, demand=demand).policy.calibration == "tight"


def test_the_ledger_proves_what_was_spent():
    learner = open_pricer(policy="paper", horizon=40, contexts=1, max_estimates=3).learner
    delta = learner.ledger.claimed.delta
    spent = [learner.ledger.epsilon(delta)]
    for period in (2, 3, 4):
        learner.absorb(np.array([0.5, 0.5]), 1.0)
        learner.estimate(period)
        spent.append(learner.ledger.epsilon(delta))
    assert spent == sorted(set(spent))
    assert spent[0] > 0.0
    assert spent[-1] <= learner.ledger.proven.epsilon <= learner.ledger.claimed.epsilon


def test_a_customers_records_are_accounted_for_in_mu():
    ledger = open_pricer(horizon=1000, contexts=1).ledger
    loss, delta = loss_of_all(ledger.allowance, ledger.adjacency), ledger.claimed.delta
    assert guarantee_of([(loss, 1)], delta).epsilon == ledger.proven.epsilon
    assert guarantee_of([(loss, 4)], delta).mu == pytest.approx(4 * loss.mu)
    assert guarantee_of([(loss, 3), (loss, 4)], delta).mu == pytest.approx(5 * loss.mu)
    stream = open_pricer(policy="paper", horizon=40, contexts=1).ledger
    with pytest.raises(InvalidInput, match="Gaussian releases alone"):
        guarantee_of([(loss_of_all(stream.allowance, stream.adjacency), 2)], delta)


def test_what_is_not_private_claims_nothing():
    for name in ("nonprivate", "clairvoyant", "input-perturbation"):
        result = simulate(name, horizon=50, trials=1, workers=1)
        assert (result.claimed, result.proven) == (None, None)
    for name, settings in (("random", {}), ("fixed", {"price": 0.5})):
        result = simulate(name, horizon=50, trials=1, workers=1, **settings)
        assert result.claimed.epsilon == result.proven.epsilon == 0.0


def test_every_record_is_held_to_its_bounds():
    records = Records(dimension=2, bound=1.0)
    records.append(np.array([3.0, 4.0]), 7.0)
    assert np.linalg.norm(records.phi[:, 0]) == pytest.approx(1.0)
    assert records.demand[0] == 1.0
    learner = simulated().learner
    learner.absorb(np.array([3.0, 4.0]), -7.0)
    assert learner.records.demand[0] == 0.0  # nobody buys less than nothing


def test_a_release_is_sealed():
    theta = np.zeros(2)
    release = EstimateRelease(theta, NotPrivate())
    theta[0] = 1.0  # the maker's array is not the release's
    assert release.theta[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        release.theta[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        release.theta = theta


def test_nothing_is_drawn_that_was_not_paid_for():
    learner = simulated(max_estimates=1).learner
    learner.absorb(np.array([0.5, 0.5]), 1.0)
    learner.estimate(period=2)
    before = Counted.asked
    with pytest.raises(BudgetExhausted):
        learner.estimate(period=3)
    assert Counted.asked == before


def test_a_fit_that_fails_is_not_released(monkeypatch):
    learner = simulated(max_estimates=3).learner
    learner.absorb(np.array([0.5, 0.5]), 1.0)
    monkeypatch.setattr(tolerance, "TOLERANCE", -1.0)
    spent = sum(entry.count for entry in learner.ledger.spent)
    with pytest.raises(DidNotConverge):
        learner.estimate(period=2)
    assert sum(entry.count for entry in learner.ledger.spent) == spent + 1


def test_an_outcome_counts_once():
    pricer = simulated()
    quote = pricer.quote([0.1])
    pricer.observe(quote.id, 1.0)
    with pytest.raises(RepeatedOutcome):
        pricer.observe(quote.id, 0.0)
    pricer.quote([0.2])
    assert pricer.learner.records.demand[0] == 1.0


def test_learning_follows_slot_numbers():
    pricer = simulated(delay=2)
    quotes = [pricer.quote([0.1]) for _ in range(3)]
    assert pricer.learner.records.count == 0
    pricer.quote([0.1])  # quote 4 makes slot 1 due; nothing was heard of it
    assert pricer.learner.records.count == 1
    assert pricer.learner.records.demand[0] == 0.0
    assert pricer.observe(quotes[0].id, 1.0) is Observation.LATE
    assert pricer.learner.records.demand[0] == 0.0
    assert pricer.observe(quotes[2].id, 1.0) is Observation.RECORDED


def test_learning_stops_at_the_horizon():
    pricer = simulated(horizon=20)
    serve(pricer, 20)
    learned, asked = pricer.learner.records.count, Counted.asked
    serve(pricer, 10)
    assert not pricer.learning
    assert (pricer.learner.records.count, Counted.asked) == (learned, asked)


def test_prices_go_on_when_the_budget_is_spent():
    pricer = open_pricer(
        policy="paper", horizon=60, contexts=1, epsilon=400.0, max_estimates=1, ridge=1.0, exploration_periods=0
    )
    while pricer.learning:
        serve(pricer, 1)
    ledger, learned = pricer.ledger, pricer.learner.records.count
    assert pricer.learner.estimates_left == 0
    assert serve(pricer, 20) == [pricer.quoter.price(np.array([x])) for x in np.linspace(-1.0, 1.0, 20)]
    assert (pricer.ledger, pricer.learner.records.count) == (ledger, learned)


def test_live_noise_is_exact():
    assert System().secure
    learner = open_pricer(policy="paper", horizon=40, contexts=1, calibration="published").learner
    stream, estimate = learner.stream_event, learner.estimate_event
    for n in range(5):
        release = learner.absorb(np.array([0.1 * n, 0.7]), 1.0)
        assert np.all(release.packed % stream.grid == 0.0)  # a sum of nodes, each on the grid
    assert np.all(learner.estimate(6).theta % estimate.output_grid == 0.0)


def test_a_seed_is_refused_outside_simulation():
    with pytest.raises(InvalidInput, match="refused outside simulation"):
        open_pricer(policy="paper", horizon=10, contexts=1, source=Tape(1, 0))


def test_records_do_not_print():
    pricer = simulated()
    pricer.observe(pricer.quote([0.123456]).id, 1.0)
    pricer.quote([0.5])
    learner = pricer.learner
    for holder in (pricer, learner, learner.records, learner.covariance, learner.estimates, pricer.slots):
        assert "0.12" not in repr(holder)
        assert "array" not in repr(holder)


def test_a_restart_redraws_nothing(tmp_path):
    def fresh() -> Pricer:
        return open_pricer(policy="paper", horizon=60, contexts=1, source=Tape(4, 0), simulation=True, epsilon=50.0)

    through, stopped = fresh(), fresh()
    expected = serve(through, 30) + serve(through, 25)
    first = serve(stopped, 30)
    released = stopped.learner.covariance.state()
    stopped.save(tmp_path / "shop.pricer")
    again = Pricer.load(tmp_path / "shop.pricer", simulation=True)
    assert stat.S_IMODE((tmp_path / "shop.pricer").stat().st_mode) == 0o600
    assert again.learner.covariance.state() == released
    assert again.ledger == stopped.ledger
    assert first + serve(again, 25) == expected


def test_two_loads_of_one_file_are_not_prevented(tmp_path):
    pricer = open_pricer(policy="paper", horizon=40, contexts=1)
    serve(pricer, 5)
    pricer.save(tmp_path / "shop.pricer")
    one, two = Pricer.load(tmp_path / "shop.pricer"), Pricer.load(tmp_path / "shop.pricer")
    assert one.ledger == two.ledger == pricer.ledger  # each believes that it has all of what is left


def test_a_fit_and_a_product_add_up():
    product = Product(floor=8.0, ceiling=12.0, reference_price=10.0, conversion=0.1, delta=1e-6)
    alone, both = (open_pricer(product=product, prior=prior).ledger for prior in (None, prior_for(product)))
    assert both.claimed.epsilon == alone.claimed.epsilon + CLAIMED.epsilon
    assert both.claimed.delta >= alone.claimed.delta + CLAIMED.delta
    assert alone.epsilon(both.claimed.delta) < both.proven.epsilon <= both.claimed.epsilon
    apart = prior_for(product, same_people=False)
    assert open_pricer(product=product, prior=apart).ledger.proven == alone.proven
