"""The report: its numbers against a second transcription of their formulas, from the paper and not from the code."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path

import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.protocol import Demand
from hushprice.errors import InvalidInput
from hushprice.policies.paper.calibration import CALIBRATIONS
from hushprice.policies.paper.report import worked
from hushprice.policies.paper.report.quantities import QUANTITIES, guessed_right, odds_factor
from hushprice.policies.paper.report.report import Row, SettingReport, report
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import split

PAPER = "printed", "published"


def make(
    epsilon: float = 1.0,
    delta: float = 2e-10,
    *,
    horizon: int = 100_000,
    dimension: int = 2,
    calls: int = 34,
    ridge: float = 10.0,
    demand: Demand | None = None,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
) -> SettingReport:
    return report(
        split(epsilon, delta),
        horizon=horizon,
        dimension=dimension,
        max_estimates=calls,
        ridge=ridge,
        demand=Logistic() if demand is None else demand,
        adjacency=adjacency,
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "horizon", "dimension", "calls"),
    [(1.0, 2e-10, 100_000, 2, 34), (0.2, 2e-12, 1_000_000, 3, 60)],
)
def test_the_papers_numbers_are_the_papers(epsilon, delta, horizon, dimension, calls):
    found = make(epsilon, delta, horizon=horizon, dimension=dimension, calls=calls)
    e, d, m = epsilon / 2, delta / 2, math.ceil(math.log2(horizon))
    for name in PAPER:
        printed = name == "printed"
        node = d / (2 * m)
        e_node = e / (2 * m * math.log(1 / node)) if printed else e / (2 * math.sqrt(2 * m * math.log(1 / node)))
        sigma = math.sqrt(2 * math.log(1.25 / node)) / e_node
        call = d / (2 * calls)
        e_call = e / ((2 if printed else 1) * math.sqrt(2 * calls * math.log(1 / call)))
        scale, curvature = (4.0 if printed else 1.0), (1 + math.e**2) ** 2 / math.e**2
        nu = 2 * scale * math.sqrt(8 * math.log(2 / call) + 4 * e_call) / e_call
        ones = max(bin(n).count("1") for n in range(1, horizon)) if horizon < 200_000 else 19
        # Two roundings to the grid in each of the numbers of the stream (docs/proofs/discrete_noise.md).
        grid = 2.0 ** (math.floor(math.log2(sigma)) - 32)
        rounding = 2 * grid * math.sqrt((horizon - 1) * dimension * (dimension + 1) / 2)
        expected = {
            "eps1": e, "delta1": d, "eps2": e, "delta2": d,
            "m": m, "delta1'": node, "eps1'": e_node, "sigma": sigma,
            "S": 1.0, "S_true": math.sqrt(2), "column": math.sqrt(m), "row": math.sqrt(ones),
            "deviation": sigma * math.sqrt(ones),
            "grid1": grid,
            "mu1": (math.sqrt(2 * m) + rounding) / sigma,
            "D_inf": calls, "delta2'": call, "eps2'": e_call,
            "B1": 2 * scale, "B2": curvature * scale, "nu": nu, "rho": max(10.0, 2 * curvature * scale / e_call),
            "gradient": 4 / (1 + math.exp(-8)), "curvature": 4.0,
            "grid2": 2.0 ** (math.floor(math.log2(nu)) - 32),
            "claimed": epsilon, "delta": delta,
        }  # fmt: skip
        for symbol, value in expected.items():
            assert found.value(symbol, name) == pytest.approx(value, rel=1e-12), symbol
        assert found.value("strategy", name) == "tree"


def gaussian_epsilon(mu: float, delta: float) -> float:
    """From the definition: the epsilon at which E (1 - e^(epsilon - L))+ is delta, L ~ N(mu^2/2, mu^2)."""

    def made(epsilon: float) -> float:
        start = epsilon / mu - mu / 2
        return quad(lambda z: -math.expm1(mu * (start - z)) * norm.pdf(z), start, start + 12, epsabs=0.0)[0]

    return float(brentq(lambda epsilon: math.log(made(epsilon) / delta), 0.0, mu * 12, xtol=1e-14))


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_the_pieces_and_their_textbook_sums(adjacency):
    found = make(delta=2e-6, adjacency=adjacency)
    for name in CALIBRATIONS:
        value = {row.symbol: row.values[name] for row in found.rows}
        nodes = value["m"] or 1
        changed = (math.sqrt(2) if adjacency is Adjacency.REPLACE_ONE else 1.0) * value["column"] / value["sigma"]
        assert value["mu1"] == pytest.approx(changed, rel=1e-3)  # rounding to the grid comes on top
        assert value["mu1"] > changed
        assert value["node"] == pytest.approx(
            gaussian_epsilon(value["mu1"] / math.sqrt(nodes), 1e-6 / (2 * nodes)), rel=1e-6
        )
        assert value["basic"] == pytest.approx(nodes * value["node"] + 34 * value["call"])
        advanced = sum(
            math.sqrt(2 * count * math.log(2 / 1e-6)) * each + count * each * (math.exp(each) - 1)
            for count, each in ((nodes, value["node"]), (34, value["call"]))
        )
        assert value["advanced"] == pytest.approx(advanced)
        assert value["proven"] <= min(value["basic"], value["advanced"])
        assert value["proven"] <= value["renyi"]
        assert value["share"] == value["proven"] / value["claimed"]
        assert value["factor"] == math.exp(value["proven"])
        right = (math.exp(value["proven"]) + 2e-6) / (1 + math.exp(value["proven"]))
        assert value["right"] == pytest.approx(right)


def test_tight_spends_its_claim_and_the_papers_do_not():
    found = make()
    assert found.value("share", "tight") == pytest.approx(1.0, abs=1e-6)
    assert found.value("share", "tight") <= 1.0
    shares = [found.value("share", name) for name in CALIBRATIONS]
    assert all(less < more for less, more in pairwise(shares))
    assert [found.value(symbol, "tight") for symbol in ("m", "delta1'", "eps1'", "eps2'", "B1", "B2")] == [None] * 6
    assert found.uncovered() == ()


def test_ratios_are_to_tight():
    found = make()
    rows = {row.symbol: row for row in found.rows}
    assert rows["sigma"].ratio("printed") == found.value("sigma", "printed") / found.value("sigma", "tight")
    assert rows["sigma"].ratio("tight") == 1.0
    assert rows["m"].ratio("printed") is None
    assert rows["strategy"].ratio("printed") is None


@pytest.mark.parametrize("demand", [Gaussian(noise=0.5), Poisson(), Logistic(bound=3.0)], ids=lambda each: each.name)
def test_other_demand_has_its_own_constants(demand):
    found = make(delta=2e-6, horizon=1000, calls=5, demand=demand)
    assert found.value("B1", "printed") == (demand.bound + 1) * demand.scale
    assert found.value("difference", "tight") == 2 * found.value("gradient", "tight")
    assert found.value("curvature", "tight") == demand.slope * demand.steepest


@pytest.mark.beyond_coverage
def test_the_corners_work():
    for budget in ((0.01, 1e-60), (0.01, 0.5), (20.0, 1e-60)):
        found = make(*budget)
        assert found.value("proven", "tight") == pytest.approx(budget[0], rel=1e-6)
    assert make(0.5, 0.1, horizon=1, calls=1).value("m", "printed") == 1


def test_a_claim_that_is_not_proven_is_named():
    found = make(delta=2e-6, horizon=1000, calls=30, demand=Gaussian(noise=0.5))  # G = 4, where `published` takes 1
    assert found.uncovered() == ("published",)


def test_an_infinite_epsilon_is_reported():
    found = make(200.0, 0.9, horizon=10, calls=1, demand=Poisson(slope=10.0))
    assert (found.value("proven", "published"), found.value("basic", "published")) == (math.inf, math.inf)
    assert found.value("factor", "published") == math.inf
    assert "published" in found.uncovered()


def test_it_is_plain_data():
    found = make().to_dict()
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(found))
    assert list(found) == [
        "horizon", "dimension", "max_estimates", "ridge", "demand", "adjacency", "budget", "rows", "odds", "uncovered",
    ]  # fmt: skip
    for row in found["rows"]:
        assert list(row) == ["group", "name", "symbol", "formula", "source", "values", "ratios"]
        assert list(row["values"]) == list(CALIBRATIONS)
        assert list(row["ratios"]) == list(PAPER)
    assert found["odds"]["tight"].startswith("up to delta, whatever later prices show is at most 2.718 times as likely")


def test_every_quantity_has_its_words():
    symbols = [each.symbol for each in QUANTITIES]
    assert len(set(symbols)) == len(symbols) > 30
    for each in QUANTITIES:
        assert each.group
        assert each.name
        assert each.formula
        assert re.fullmatch(r"(alg|cor|sec|fact|defn):[\w-]+(, line \d)?|docs/proofs/\w+[.]md", each.source)
    assert isinstance(make().rows[0], Row)


@pytest.mark.parametrize(
    ("budget", "field"), [((1e-6, 1e-6), "epsilon"), ((1000.0, 1e-6), "epsilon"), ((1.0, 1e-300), "delta")]
)
def test_what_is_far_out_of_reach_is_refused(budget, field):
    with pytest.raises(InvalidInput, match=f"^{field} must lie in"):
        make(*budget)


def test_numbers_that_overflow_are_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(worked, "calibrate", lambda *_, **__: math.exp(1000))
    with pytest.raises(InvalidInput, match=r"^no noise can be found for Logistic.*: math range error$"):
        make()


def test_odds():
    assert odds_factor(1000.0) == math.inf
    assert guessed_right(1000.0, 0.0) == 1.0
    for epsilon, delta in ((0.0, 0.0), (0.1, 0.01), (3.0, 1e-6)):
        # Neither error can be lowered without raising the other past its bound.
        wrong = 1.0 - guessed_right(epsilon, delta)
        assert 1.0 - wrong == pytest.approx(math.exp(epsilon) * wrong + delta)


def test_sources_are_files_or_labels():
    root = Path(__file__).resolve().parents[3]
    proofs = {each.source for each in QUANTITIES if each.source.startswith("docs/")}
    assert all((root / proof).parent.is_dir() for proof in proofs)
