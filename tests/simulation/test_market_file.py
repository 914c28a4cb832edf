"""Market files: what the documented keys do."""

from __future__ import annotations

import math
import re
from pathlib import Path

import msgspec
import numpy as np
import polars
import pytest

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import main_effects
from hushprice.simulation.contexts import KINDS
from hushprice.simulation.market import Market
from hushprice.simulation.market_file import ContextsTable, DemandTable, FeaturesTable, load_market
from hushprice.simulation.run import simulate

TABLES = {"demand": DemandTable, "features": FeaturesTable, "contexts": ContextsTable}

EXAMPLE = """
[demand]
family = "logistic"            # logistic | gaussian | poisson
slope = 4.0                    # zeta
theta = [0.2, -0.3, 0.5, 0.7]  # norm at most 1; its length must be the feature map's d
[features]
map = "main"
[contexts]
kind = "uniform"
dimension = 3                  # k, the length of x; every entry in [-1, 1]
"""
DEMAND = '[demand]\nfamily = "logistic"\ntheta = [0.1, 0.2, 0.3]\n'


def load(folder: Path, text: str) -> Market:
    file = folder / "shop.toml"
    file.write_text(text)
    return load_market(file)


def with_contexts(lines: str) -> str:
    return f"{DEMAND}[contexts]\ndimension = 2\n{lines}\n"


def test_the_documented_example_says_what_it_says(tmp_path: Path) -> None:
    market = load(tmp_path, EXAMPLE)
    assert market.demand == Logistic(slope=4.0, bound=1.0)
    assert market.theta.tolist() == [0.2, -0.3, 0.5, 0.7]
    assert (market.features.name, market.features.contexts, market.dimension) == ("main", 3, 4)
    assert (market.contexts, market.name) == ("uniform", "shop")
    assert market.compiled


def test_defaults_are_the_main_map_and_uniform_contexts(tmp_path: Path) -> None:
    market = load(tmp_path, with_contexts(""))
    assert (market.features.name, market.contexts, market.demand.slope) == ("main", "uniform", 4.0)


@pytest.mark.parametrize(("name", "theta"), [("main", 3), ("intercept", 4), ("interactions", 6)])
def test_each_map_takes_a_theta_of_its_own_length(tmp_path: Path, name: str, theta: int) -> None:
    text = f'[demand]\nfamily = "logistic"\ntheta = {[0.1] * theta}\n[features]\nmap = "{name}"\n'
    assert load(tmp_path, text + "[contexts]\ndimension = 2\n").dimension == theta


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_contexts_loads(tmp_path: Path, kind: str) -> None:
    (tmp_path / "rows.csv").write_text("0.5,-0.5\n")
    extra = 'path = "rows.csv"\n' if kind == "file" else ""
    assert load(tmp_path, with_contexts(f'kind = "{kind}"\n{extra}')).contexts == kind


def test_demand_keys_reach_the_family(tmp_path: Path) -> None:
    contexts = "theta = [0.1, 0.2]\n[contexts]\ndimension = 1\n"
    cases = {
        '[demand]\nfamily = "logistic"\nslope = 2\nbound = 3.0\n': Logistic(slope=2.0, bound=3.0),
        '[demand]\nfamily = "poisson"\nslope = 0.5\nbound = 7\n': Poisson(slope=0.5, bound=7.0),
        '[demand]\nfamily = "gaussian"\nnoise = 0.25\nbound = 2.0\n': Gaussian(noise=0.25, bound=2.0),
        '[demand]\nfamily = "gaussian"\nslope = 16.0\n': Gaussian(noise=0.25),
        '[demand]\nfamily = "gaussian"\nslope = 16.0\nnoise = 0.25\n': Gaussian(noise=0.25),
        '[demand]\nfamily = "gaussian"\n': Gaussian(noise=1.0),
    }
    for text, demand in cases.items():
        assert load(tmp_path, text + contexts).demand == demand


def test_context_keys_reach_the_stream(tmp_path: Path) -> None:
    gaussian = load(tmp_path, with_contexts('kind = "gaussian"\ncorrelation = 0.5')).stream(10)
    np.testing.assert_allclose(gaussian.table @ gaussian.table.T, [[1.0, 0.5], [0.5, 1.0]], rtol=1e-14)
    weighted = load(tmp_path, with_contexts('kind = "segments"\nweights = [0.25, 0.75]')).stream(10)
    assert weighted.table.shape == (2, 2)
    assert weighted.weights.tolist() == [0.25, 1.0]
    pointed = load(tmp_path, with_contexts('kind = "segments"\npoints = [[0, 1], [1, 0], [-1, 0.5]]')).stream(10)
    assert pointed.table.tolist() == [[0.0, 1.0], [1.0, 0.0], [-1.0, 0.5]]
    np.testing.assert_allclose(pointed.weights, [1 / 3, 2 / 3, 1.0])


ROWS = np.array([[0.5, -1.0], [1.0, 0.0], [0.25, 0.125]])


@pytest.mark.parametrize("name", ["plain.csv", "headed.csv", "marked.csv", "rows.npy", "rows.parquet", "whole.npy"])
def test_context_files_are_read_relative_to_the_market_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "data").mkdir()
    file, expected = tmp_path / "data" / name, ROWS
    text = "".join(f"{one},{two}\n" for one, two in ROWS.tolist())
    if name == "whole.npy":
        expected = np.array([[1.0, 0.0], [-1.0, 1.0]])
        np.save(file, expected.astype(np.int32))
    elif name == "rows.npy":
        np.save(file, np.asfortranarray(ROWS))
    elif name == "rows.parquet":
        polars.DataFrame(ROWS, schema=["age", "visits"]).write_parquet(file)
    else:
        start = {"plain.csv": "", "headed.csv": "age, visits\n", "marked.csv": "\ufeff"}[name]
        file.write_text(start + text + "\n", encoding="utf-8")
    table = load(tmp_path, with_contexts(f'kind = "file"\npath = "data/{name}"')).stream(10).table
    np.testing.assert_array_equal(table, expected)
    assert table.flags.c_contiguous
    assert table.flags.writeable


def test_whole_numbers_at_the_top_of_a_column_do_not_hide_fractions_below(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("0,1\n" * 500 + "0.5,-0.5\n")
    table = load(tmp_path, with_contexts('kind = "file"\npath = "rows.csv"')).stream(10).table
    assert table[-1].tolist() == [0.5, -0.5]


def test_every_example_of_the_documentation_runs(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "market_file.md").read_text()
    (rows,) = re.findall(r"```csv\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "customers.csv").write_text(rows)
    markets = [load(tmp_path, example) for example in re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)]
    assert [market.contexts for market in markets] == [
        "uniform", "gaussian", "segments", "file", "sorted", "corners", "blocks", "late",
    ]  # fmt: skip
    for market in markets:
        result = simulate("nonprivate", market=market, horizon=200, trials=1, workers=1)
        assert result.average_regret.mean is not None
    for key in re.findall(r"`(\w+\.\w+)`", text):
        table, _, field = key.partition(".")
        assert field in {each.name for each in msgspec.structs.fields(TABLES[table])}


def test_a_market_keeps_its_own_copy_of_theta() -> None:
    theta = np.array([0.5, 0.5])
    market = Market(demand=Logistic(), features=main_effects(1), theta=theta)
    theta[0] = math.nan
    assert market.theta.tolist() == [0.5, 0.5]
