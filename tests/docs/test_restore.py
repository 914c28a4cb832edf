"""Backup and restore as docs/guide/operations.md has them: an old one goes on after what was charged, and says so."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hushprice.client import Client, Quote, Refused, UnknownQuote

ROOT = Path(__file__).resolve().parents[2]
SERVE = runpy.run_path(str(ROOT / "examples" / "shop_service.py"))["serve"]
PRODUCT = {
    "name": "coffee",
    "currency": "EUR",
    "ceiling": 10.0,
    "contexts": 1,
    "epsilon": 5.0,
    "horizon": 10_000,
    "quote_seconds": 0.5,
    "outcome_seconds": 0.5,
}


def documented(folder: Path, verb: str) -> None:
    """The documented command with this verb, for the store of this test."""
    guide = (ROOT / "docs" / "guide" / "operations.md").read_text()
    (words,) = re.findall(rf"^(?:2\. `)?hushprice (store {verb} [\w. -]*)", guide, flags=re.M)
    command = [sys.executable, "-c", "from hushprice.cli import main; main()", *words.split(), "--store", "shop.db"]
    subprocess.run(command, cwd=folder, check=True)


def soon(ask: Callable[[], Any]) -> Any:
    end = time.monotonic() + 240
    while time.monotonic() < end:
        try:
            if answer := ask():
                return answer
        except Refused:
            pass
        time.sleep(0.1)
    raise AssertionError("nothing came")


def last_of_all(shop: Client, slots: int) -> Any:
    """The last release of so many slots: none is left of which another could be made."""
    told = shop.privacy("coffee")
    assert told["quotes"] <= slots
    if told["quotes"] < slots or told["next_release_after_slot"] <= slots:
        return None
    return shop.report("coffee")["releases"][-1]


def sell(shop: Client, count: int) -> Quote:
    quotes = [shop.quote("coffee", context=[number % 7 / 7]) for number in range(count)]
    return quotes[-1]


def test_an_old_backup_draws_nothing_again(tmp_path):
    with SERVE(tmp_path, True) as service, Client(service.url, service.keys["admin"], timeout=60.0) as admin:
        admin.create_product(**PRODUCT)
        sell(admin, 80)
        soon(lambda: admin.report("coffee")["releases"])
        documented(tmp_path, "backup")
        last = sell(admin, 400)
        used = soon(lambda: last_of_all(admin, 480))
        assert used["records"] > 300
    documented(tmp_path, "restore")

    with SERVE(tmp_path, True) as service, Client(service.url, service.keys["admin"], timeout=60.0) as admin:
        changes = soon(lambda: admin.report("coffee")["changes"])
        assert [change["what"] for change in changes] == ["restored backup"]
        assert f"release {used['sequence']}" in changes[0]["detail"]
        with pytest.raises(UnknownQuote):
            admin.outcome(last, purchased=True)
        old = admin.report("coffee")["releases"]
        assert old[-1]["sequence"] < used["sequence"]
        sell(admin, 600)
        fresh = soon(lambda: [each for each in admin.report("coffee")["releases"] if each not in old])
        assert fresh[0]["sequence"] == used["sequence"] + 1
        assert min(each["records"] for each in fresh) > used["records"]
