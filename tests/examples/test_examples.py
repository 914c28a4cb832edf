"""Every example runs, without a warning, and prints what its first lines promise."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from hushprice.noise import System
from hushprice.privacy import streams
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import LAYOUTS, CovarianceStream, grid_of
from hushprice.privacy.loss import loss_of
from hushprice.privacy.sensitivity import of_covariance

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(name: str, *arguments: str) -> str:
        path = str(EXAMPLES / name)
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        runpy.run_path(path, run_name="__main__")
        return capsys.readouterr().out

    return run


def test_ten_customers_get_prices_and_every_kind_of_outcome_is_answered(run):
    out = run("price_ten_customers.py")
    prices = [float(price) for price in re.findall(r"offered +([\d.]+)", out)]
    assert len(prices) == 10
    assert all(12.0 <= price <= 20.0 for price in prices)  # 0.4 of 40, give or take 0.1: nothing is released yet
    assert "customer  4 buys after all: late" in out
    for refusal in ("RepeatedOutcome", "UnknownQuote", "InvalidInput"):
        assert f"refused, {refusal}" in out
    assert "Batches: 1 of 1 spent" in out
    assert "1 attribute was out of bounds" in out


def test_policies_are_compared_in_a_table_and_a_picture(run, tmp_path):
    out = run("compare_policies.py", str(tmp_path / "pictures"))
    rows = re.findall(r"^  (\S.*?) +([\d.]+) ± +[\d.]+   (.*)$", out, flags=re.MULTILINE)
    assert {name for name, _, _ in rows} == {"best fixed price", "nonprivate", "paper (published)", "random"}
    regrets = [float(regret) for _, regret, _ in rows]
    assert regrets == sorted(regrets)
    assert {name for name, _, privacy in rows if privacy == "NOT PRIVATE"} == {"nonprivate"}
    assert (tmp_path / "pictures" / "comparison.png").read_bytes().startswith(b"\x89PNG")


def test_comparing_policies_asks_for_a_folder(run):
    with pytest.raises(SystemExit, match=r"usage: .* FOLDER"):
        run("compare_policies.py")


def test_a_demand_family_is_checked_and_priced(run):
    out = run("own_demand_family.py")
    assert "TwoUnits breaks its word: nowhere" in out
    assert "Careless breaks its word: bound: a sample lies outside [-1, 1]" in out
    lost = {name: float(loss) for name, loss in re.findall(r"^(\w+) .* loses ([\d.]+)$", out, flags=re.MULTILINE)}
    assert lost["clairvoyant"] == 0.0
    assert lost["nonprivate"] < lost["random"] / 10


def test_a_releaser_is_plugged_into_a_pricer(run):
    out = run("own_releaser.py")
    (built_in, blocks) = re.findall(r"built-in ([\d.]+), blocks ([\d.]+)", out)[0]
    assert float(blocks) < 0.8 * float(built_in)  # the point of the example: same privacy, less noise
    assert re.search(r"Plugged in: 999 customers, [1-9]\d* estimates", out)


def test_the_releaser_of_the_example_costs_no_more_than_the_event_it_carries():
    releaser = runpy.run_path(str(EXAMPLES / "own_releaser.py"))["BlockCovariance"]
    for layout in LAYOUTS:
        for strategy in (streams.tree(1000), streams.toeplitz(1000)):
            event = CovarianceStream(
                strategy=strategy, steps=999, dimension=3, noise=5.0, layout=layout, grid=grid_of(5.0)
            )
            own = releaser(event, block=1, source=System())
            # A record is in one sum, of which it moves the weighted triangle by no more than phi phi' moves.
            moved = of_covariance(Adjacency.REPLACE_ONE) + 2.0 * grid_of(own._noise) * own._weight.size**0.5
            assert moved / own._noise <= loss_of(event, 1, Adjacency.REPLACE_ONE).mu
            release = own.absorb(np.array([0.6, 0.0, -0.8]))
            assert (release.event, release.records) == (event, 1)
            published = np.round(release.packed * own._weight / grid_of(own._noise))
            np.testing.assert_allclose(published * grid_of(own._noise), release.packed * own._weight, rtol=1e-15)


def test_a_policy_runs_beside_the_yardsticks(run):
    out = run("own_policy.py")
    lost = {name: float(loss) for name, loss in re.findall(r"^(\S.*?) +loses +([\d.]+)e-4", out, flags=re.MULTILINE)}
    assert lost["best fixed price"] < lost["HalfwayPolicy"] < lost["random"]
    assert re.search(r"HalfwayPolicy .* NOT PRIVATE", out)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_stay_short_and_say_how_to_run_them(path):
    text = path.read_text()
    assert text.count("\n") < 80
    assert f"Run: python examples/{path.name}" in text
