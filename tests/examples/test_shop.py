"""The simulated shop runs to its end: a real service, real HTTP, a report, and nothing left behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_shop_sells_learns_reports_and_closes(tmp_path):
    command = [sys.executable, str(EXAMPLES / "shop.py"), "--exit", "--shoppers", "400"]
    real = {"HUSHPRICE_STORE": str(tmp_path / "real.db"), "HUSHPRICE_STATE_DIR": str(tmp_path / "notes")}
    environment = {**os.environ, **real, "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    out = done.stdout
    releases, learned, visits = re.findall(r"(\d+) releases, from ([\d,]+) of ([\d,]+) visits", out)[0]
    assert int(releases) >= 1
    assert 0 < int(learned) <= int(visits) == 400
    assert "epsilon claimed 2, proven 2, spent 2" in out
    assert "because the service was away: 0. Outcomes that came late: 0." in out
    for column in ("price at the start", "at the end", "reference", "best fixed", "best personal"):
        assert column in out
    assert re.search(r"Sold a visit: [\d.]+ at personal prices, [\d.]+ to the holdout", out)
    assert re.search(r"Page: http://127\.0\.0\.1:\d+/", out)
    (keys,) = re.findall(r"Keys: (\S+\.keys\.toml)", out)
    assert not Path(keys).parent.exists()
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())  # no real store was touched, and nothing is left of the simulated one


def test_the_parts_of_the_shop_explain_themselves():
    for name, words in (("shoppers.py", "best price"), ("shop_report.py", "Best fixed")):
        done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=True)
        assert words in done.stdout
