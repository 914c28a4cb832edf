"""The simulated shops run to their end: a real service, real HTTP, a report, and nothing left behind."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_shops_sell_learn_report_and_close(tmp_path):
    command = [sys.executable, str(EXAMPLES / "shop.py"), "--exit", "--visitors", "600"]
    real = {"HUSHPRICE_STORE": str(tmp_path / "real.db"), "HUSHPRICE_STATE_DIR": str(tmp_path / "notes")}
    environment = {**os.environ, **real, "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    out = done.stdout
    for name in ("half_buy", "few_buy"):
        (told,) = re.findall(rf"^{name}: [\d.]+% (?:more|less) was earned from 600 visitors .*$", out, re.MULTILINE)
        assert re.search(r"privacy of epsilon 1 of 1 promised, in [1-9]\d* releases\.", told)
        assert ("not paid yet" in told) == ("% less was earned" in told)
    rows = re.findall(r"^ +([\d,]+) +[\d.]+ +[\d.]+ +([\d.]+)-([\d.]+) +[\d.]+% +[+-][\d.]+%$", out, re.MULTILINE)
    assert [row[0] for row in rows].count("600") == 2
    assert len(rows) >= 4  # in each shop a batch before the first release, and one after it
    assert all(18.0 <= float(low) <= float(high) <= 32.0 for _, low, high in rows)
    late = re.findall(r"Outcomes that came too late to be learned: \d+\.", out)
    assert len(late) == 2  # how many are late depends on the machine: they have a second and a half
    assert re.search(r"Page: http://127\.0\.0\.1:\d+/", out)
    (keys,) = re.findall(r"Keys: (\S+\.keys\.toml)", out)
    assert not Path(keys).parent.exists()
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())  # no real store was touched, and nothing is left of the simulated one


def test_the_parts_of_the_shop_explain_themselves():
    promised = {"shoppers.py": "best personal prices", "shop_report.py": "today's price", "shop_visits.py": "'horizon'"}
    for name, words in promised.items():
        done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=True)
        assert words in done.stdout


@pytest.fixture
def shoppers(request):
    return runpy.run_path(str(EXAMPLES / "shoppers.py"))["Shoppers"](EXAMPLES / f"{request.param}.toml")


@pytest.mark.parametrize("shoppers", ["half_buy", "few_buy"], indirect=True)
def test_what_the_service_reads_of_a_shopper_is_what_the_world_drew(shoppers):
    contexts = shoppers.arrive(200)
    read = [shoppers.product.schema.encode(shoppers.attributes(each)).context for each in contexts]
    np.testing.assert_allclose(read, contexts, atol=1e-12)


@pytest.mark.parametrize("shoppers", ["half_buy", "few_buy"], indirect=True)
def test_a_diary_knows_gain_loss_and_worst_moment(shoppers, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    diary = runpy.run_path(str(EXAMPLES / "shop_report.py"))["Diary"](shoppers)
    contexts, today = shoppers.arrive(2000), shoppers.product.reference_price
    worth = [shoppers.earned(contexts, price).sum() for price in (shoppers.product.ceiling, today)]
    for price in (shoppers.product.ceiling, today):
        diary.add(contexts, np.full(2000, price), np.zeros(2000, dtype=bool))
    gain = (worth[0] + worth[1]) / (2.0 * worth[1]) - 1.0
    assert f"{gain:+.2%}" == capsys.readouterr().out.split()[-1]
    said = diary.summary("it", {"spent": {"epsilon": 1.0}, "claimed": {"epsilon": 1.0}, "releases": 3})
    more = gain > 0.0
    assert said.startswith(f"it: {abs(gain):.1%} {'more' if more else 'less'} was earned from 4,000 visitors")
    assert ("It has not paid yet." in said) == (not more)
    assert "The last fifth earned +0.0%." in said  # today's price


@pytest.mark.parametrize("shoppers", ["half_buy", "few_buy"], indirect=True)
def test_no_prices_earn_more_than_the_best_and_no_single_price_than_the_best_single_one(shoppers):
    contexts, product = shoppers.arrive(500), shoppers.product
    staying = shoppers.earned(contexts, product.reference_price).sum()
    single, personal = shoppers.best(contexts)
    prices = np.random.default_rng(3).uniform(product.floor, product.ceiling, (50, 500))
    assert max(shoppers.earned(contexts, each).sum() for each in prices) < personal * staying
    assert max(shoppers.earned(contexts, each).sum() for each in prices[:, 0]) <= single * staying * 1.001  # its grid
    assert 1.0 <= single <= personal
