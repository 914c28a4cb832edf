"""Every kind of bad input: exit code 2, one line on stderr with the field and the value, nothing on stdout, no file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.service.shared.test_one_product import BAD as WRONG
from tests.service.shared.test_one_product import SHOP

from hushprice import Product
from hushprice.errors import InvalidInput

BAD = {
    "simulate --epsilon nan": ("epsilon", "nan"),
    "simulate --epsilon inf": ("epsilon", "inf"),
    "simulate --epsilon 0": ("epsilon", "0.0"),
    "simulate --epsilon -1": ("epsilon", "-1.0"),
    "simulate --epsilon one": ("--epsilon", "'one'"),
    "simulate --epsilon-covariance nan --epsilon-estimate 1": ("epsilon_covariance", "nan"),
    "simulate --epsilon 1 --epsilon-estimate 2": ("epsilon_estimate", "2.0"),
    "simulate --delta nan": ("delta", "nan"),
    "simulate --delta 0": ("delta", "0.0"),
    "simulate --delta 1": ("delta", "1.0"),
    "simulate --delta -1e-9": ("delta", "-1e-09"),
    "simulate --delta 2/T^": ("delta", "2/T^"),
    "simulate --horizon 0": ("horizon", "0"),
    "simulate --horizon -5": ("horizon", "-5"),
    "simulate --horizon nan": ("--horizon", "'nan'"),
    "simulate --horizon inf": ("--horizon", "'inf'"),
    "simulate --horizon 10.5": ("--horizon", "'10.5'"),
    "simulate --dimension 1": ("dimension", "1"),
    "simulate --dimension 12": ("dimension", "12"),
    "simulate --trials 0": ("trials", "0"),
    "simulate --seed -1": ("seed", "-1"),
    "simulate --workers 0": ("workers", "0"),
    "simulate --policy fixed --price 1.5": ("price", "1.5"),
    "simulate --policy fixed --price -0.1": ("price", "-0.1"),
    "simulate --policy fixed --price nan": ("price", "nan"),
    "simulate --policy random --price 0.5": ("price", "0.5"),
    "simulate --policy input-perturbation --epsilon nan": ("epsilon", "nan"),
    "simulate --policy paper --ridge 0": ("ridge", "0.0"),
    "simulate --policy paper --ridge inf": ("ridge", "inf"),
    "simulate --policy paper --width -1": ("width", "-1.0"),
    "simulate --policy paper --max-estimates 0": ("max_estimates", "0"),
    "simulate --policy paper --exploration-periods -1": ("exploration_periods", "-1"),
    "simulate --width 3": ("width is for policies 'paper', 'nonprivate', 'input-perturbation'", "3.0"),
    "simulate --policy papier": ("policy", "'papier'"),
    "simulate --policy noisy-newton --reference-price 2": ("reference_price", "2.0"),
    "simulate --policy paper --no-trigger": ("trigger", "'paper'"),
    "simulate --policy nowhere.to:BeFound": ("policy", "'nowhere.to:BeFound'"),
    "simulate --policy json:Nothing": ("policy", "'json:Nothing'"),
    "simulate --policy paper --market steep.toml --calibration published": (
        "is claimed, but the noise proves",
        "'published'",
    ),
    "simulate --adjacency nobody": ("adjacency must be one of replace-one, zero-out", "'nobody'"),
    "simulate --calibration loose": ("calibration", "'loose'"),
    "simulate --policy random --calibration bogus": (
        "calibration is for policies 'paper', 'shariff-sheffet'",
        "'bogus'",
    ),
    "simulate --delta 2/T^400": ("delta", "'2/T^400', which is 0 at horizon"),
    "simulate --format xml": ("--format", "'xml'"),
    "simulate --colour red": ("--colour", "No such option"),
    "simulat": ("simulat", "No such command"),
    "simulate --market absent.toml": ("market", "'absent.toml'"),
    "simulate --market .": ("market", "directory"),
    "simulate --market broken.toml": ("broken.toml", "line 1"),
    "simulate --market typo.toml": ("typo.toml", "`slop`"),
    "simulate --market long.toml": ("theta", "(3,)"),
    "simulate --market loud.toml": ("theta", "1.27"),
    "simulate --market rows.toml": ("contexts.path row 2, entry 1", "1.5"),
    "simulate --market good.toml --dimension 2": ("dimension", ""),
    "simulate --output runs.csv": ("output", "'runs.csv'"),
    "simulate --output taken/runs.parquet": ("output", "'taken'"),
    "simulate --policy random --horizon 9 --output /proc/none/runs.parquet": ("output", "'/proc/none/runs.parquet'"),
    "simulate --product absent.toml --world world.toml": ("product", "'absent.toml'"),
    "simulate --product product.toml": ("world file 'product.toml'", "neither"),
    "simulate --world world.toml": ("--product", "world.toml"),
    "simulate --product high.toml --world world.toml": ("floor", "26.0"),
    "simulate --product product.toml --world odd.toml": ("[world] elasticity", "-1.0"),
    "simulate --product product.toml --world world.toml --policy paper": ("policy", "'paper'"),
    "simulate --product product.toml --world world.toml --dimension 3": ("dimension is for markets", "3"),
    "simulate --product product.toml --world world.toml --market good.toml": ("market", "good.toml"),
    "simulate --product product.toml --world world.toml --epsilon nan": ("epsilon", "nan"),
    "simulate --product product.toml --world world.toml --delta 2": ("delta", "2.0"),
    "simulate --product product.toml --world world.toml --horizon 1": ("delta", "which is 2 at horizon 1"),
    "simulate --product product.toml --world world.toml --trials 0": ("trials", "0"),
    "simulate --product product.toml --world world.toml --workers 0": ("workers", "0"),
    "simulate --product product.toml --world world.toml --output runs.json": (".parquet or .csv", "'runs.json'"),
    "simulate --market product.toml": ("market file 'product.toml'", "[product]"),
    "compare --policy papier": ("policy", "'papier'"),
    "compare --policy random --policy paper@loose": ("policy", "'paper@loose'"),
    "compare --policy random --policy paper@published --market steep.toml": ("calibration", "'published'"),
    "compare --adjacency nobody": ("adjacency", "'nobody'"),
    "compare --output taken": ("output", "'taken'"),
    "compare --epsilon nan": ("epsilon", "nan"),
    "compare --market absent.toml": ("market", "'absent.toml'"),
    "attack --runs 7": ("runs", "7"),
    "attack --runs 1e99": ("runs", "1"),
    "attack --confidence 1": ("confidence", "1.0"),
    "attack --confidence nan": ("confidence", "nan"),
    "attack --period 0": ("period", "0"),
    "attack --period 500": ("period", "500"),
    "attack --period 501": ("period", "501"),
    "attack --others some": ("others", "'some'"),
    "attack --story age": ("story", "'age'"),
    "attack --policy papier": ("policy", "'papier'"),
    "attack --policy paper@loose": ("policy", "'paper@loose'"),
    "attack --epsilon 0": ("epsilon", "0.0"),
    "attack --workers 0": ("workers", "0"),
    "attack --output taken": ("output", "'taken'"),
    "plan --features 2": ("--customers", "Missing option"),
    "plan --customers 1 --features 2": ("customers", "1"),
    "plan --customers 1e10 --features 2": ("customers", "10000000000"),
    "plan --customers 1.5 --features 2": ("--customers", "'1.5'"),
    "plan --customers 1e4 --features 0": ("features", "0"),
    "plan --customers 1e4 --features 99": ("features", "99"),
    "plan --customers 1e4 --features 2 --epsilon nan": ("epsilon", "nan"),
    "plan --customers 1e4 --features 2 --epsilon 1e-9": ("epsilon", "1e-09"),
    "plan --customers 1e4 --features 2 --delta 2": ("delta", "2.0"),
    "plan --customers 1e4 --features 2 --map cubic": ("map", "'cubic'"),
    "plan --customers 1e4 --features 2 --slope 0": ("slope", "0.0"),
    "plan --customers 1e4 --features 2 --reference-price 2": ("reference_price", "2.0"),
    "plan --customers 1e4 --features 2 --adjacency nobody": ("adjacency", "'nobody'"),
    "plan --customers 1e4 --features 2 --workers 0": ("workers", "0"),
    "plan --customers 1e4 --features 2 --picture plan.pdf": ("picture", "'plan.pdf'"),
    "plan --customers 1e4 --features 2 --picture taken/plan.svg": ("output", "'taken'"),
    "plan --customers 1e4 --features 2 --days 3": ("days is for a product", "'3'"),
    "plan --customers 1e4 --features 2 --epsilon 1,2": ("epsilon must be one number", "(1.0, 2.0)"),
    "plan --product product.toml": ("--visitors-per-day", "missing"),
    "plan --product absent.toml --visitors-per-day 9": ("product", "'absent.toml'"),
    "plan --product high.toml --visitors-per-day 9": ("floor", "26.0"),
    "plan --product product.toml --visitors-per-day 0": ("visitors_per_day", "0"),
    "plan --product product.toml --visitors-per-day 1.5": ("--visitors-per-day", "'1.5'"),
    "plan --product product.toml --visitors-per-day 9 --days 0": ("days", "0"),
    "plan --product product.toml --visitors-per-day 9e6 --days 2": ("days x visitors_per_day", "2 x 9000000"),
    "plan --product product.toml --visitors-per-day 9 --epsilon 1,nan": ("epsilon", "nan"),
    "plan --product product.toml --visitors-per-day 9 --epsilon 1,,2": ("--epsilon", "''"),
    "plan --product product.toml --visitors-per-day 9 --show-difference 0": ("show_difference", "0.0"),
    "plan --product product.toml --visitors-per-day 9 --holdout 1": ("holdout", "1.0"),
    "plan --product product.toml --visitors-per-day 9 --trials 0": ("trials", "0"),
    "plan --product product.toml --visitors-per-day 9 --world odd.toml": ("[world] elasticity", "-1.0"),
    "plan --product product.toml --visitors-per-day 9 --features 2": ("features is for the paper's markets", "2"),
    "plan --product product.toml --visitors-per-day 9 --output plan.json": (".parquet or .csv", "'plan.json'"),
    "plan --product product.toml --visitors-per-day 9 --picture plan.pdf": ("picture", "'plan.pdf'"),
    "plan --product product.toml --visitors-per-day 9 --delta 2": ("delta", "2.0"),
    "audit --runs 7": ("runs", "7"),
    "audit --confidence 0": ("confidence", "0.0"),
    "audit --period 500": ("period", "500"),
    "audit --story age": ("story", "'age'"),
    "audit --delta 2": ("delta", "2.0"),
    "audit --market absent.toml": ("market", "'absent.toml'"),
}
CONTEXTS = "[contexts]\ndimension = 1\n"
PRODUCT = "[product]\nfloor = 20.0\nceiling = 30.0\nreference_price = 25.0\nconversion = 0.02\n"
MARKETS = {
    "product": PRODUCT,
    "high": PRODUCT.replace("20.0", "26.0"),
    "world": '[world]\nkind = "logit"\nelasticity = 2.0\n',
    "odd": '[world]\nkind = "logit"\nelasticity = -1.0\n',
    "broken": "[demand\n",
    "typo": '[demand]\nfamily = "logistic"\nslop = 4.0\ntheta = [0.1, 0.2]\n' + CONTEXTS,
    "long": '[demand]\nfamily = "logistic"\ntheta = [0.1, 0.2, 0.3]\n' + CONTEXTS,
    "loud": '[demand]\nfamily = "logistic"\ntheta = [0.9, 0.9]\n' + CONTEXTS,
    "steep": '[demand]\nfamily = "poisson"\nslope = 2.0\ntheta = [0.1, 0.9]\n' + CONTEXTS,
    "good": '[demand]\nfamily = "logistic"\ntheta = [0.1, 0.9]\n' + CONTEXTS,
    "rows": '[demand]\nfamily = "logistic"\ntheta = [0.1, 0.9]\n' + CONTEXTS + 'kind = "file"\npath = "rows.csv"\n',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with market files good and bad, which the command runs in."""
    for name, text in MARKETS.items():
        (tmp_path / f"{name}.toml").write_text(text)
    (tmp_path / "rows.csv").write_text("0.5\n1.5\n")
    (tmp_path / "taken").write_text("a file, not a folder")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", BAD)
def test_bad_input_is_one_line_that_names_field_and_value(command: str, folder: Path, call: Callable) -> None:
    before = sorted(folder.rglob("*"))
    code, out, err = call(command)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("hushprice: ")
    for part in BAD[command]:
        assert part in err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("bad", WRONG, ids=str)
@pytest.mark.parametrize("command", ["simulate", "plan --visitors-per-day 9", "compare"])
def test_a_product_is_refused_as_the_library_refuses_it(
    command: str, bad: dict[str, Any], folder: Path, call: Callable
) -> None:
    with pytest.raises(InvalidInput) as refused:
        Product(**SHOP | bad)
    lines = [f"{name} = {json.dumps(value)}" for name, value in (SHOP | bad).items()]
    (folder / "wrong.toml").write_text("\n".join(["[product]", *lines]) + "\n" + MARKETS["world"])
    given = "" if command == "compare" else " --output runs.csv"
    code, out, err = call(f"{command} --product wrong.toml{given}")
    assert (code, out) == (2, "")
    assert err == f"hushprice: product file 'wrong.toml': {refused.value}\n"
    assert not (folder / "runs.csv").exists()


def test_the_installed_script_refuses_alike(script: Callable) -> None:
    for command in ("simulate --epsilon nan --output runs.parquet", "simulate --horizon 10.5"):
        code, out, err = script(command)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
