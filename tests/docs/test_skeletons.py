"""The skeleton runs as it stands, its own tests included."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from hushprice import open_pricer
from hushprice.errors import BudgetExhausted
from hushprice.releasers.noise import Tape

PATH = Path(__file__).resolve().parents[2] / "docs" / "skeletons" / "releaser.py"
SKELETON = runpy.run_path(str(PATH))


@pytest.mark.parametrize("name", sorted(name for name in SKELETON if name.startswith("test_")))
def test_its_tests_pass(name):
    SKELETON[name]()


def test_it_has_the_five_things():
    marks = re.findall(r'^(?:# | *""")?\[(\d)\] ', PATH.read_text(), flags=re.MULTILINE)
    assert marks == ["1", "2", "3", "4", "5"]


def test_a_pricer_refuses_it_until_its_event_is_one_the_ledger_knows():
    source = Tape(2, 0)
    releaser = SKELETON["BlockReleaser"](event=SKELETON["BlockSums"](1.0, 2), block=5, source=source)
    pricer = open_pricer(horizon=100, contexts=1, source=source, simulation=True, covariance=releaser)
    pricer.quote([0.5])
    with pytest.raises(BudgetExhausted, match="BlockSums"):
        pricer.quote([0.5])
