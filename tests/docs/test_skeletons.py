"""The skeleton runs as it stands, its own tests included."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from hushprice import open_pricer
from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.noise import System, Tape
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import grid_of
from hushprice.privacy.loss import loss_of

PATH = Path(__file__).resolve().parents[2] / "docs" / "reference" / "skeletons" / "releaser.py"
SKELETON = runpy.run_path(str(PATH))


@pytest.mark.parametrize("name", sorted(name for name in SKELETON if name.startswith("test_")))
def test_its_tests_pass(name):
    SKELETON[name]()


def test_it_has_the_five_things():
    marks = re.findall(r'^(?:# | *""")?\[(\d)\] ', PATH.read_text(), flags=re.MULTILINE)
    assert marks == ["1", "2", "3", "4", "5"]


def test_a_pricer_refuses_it_until_its_event_is_one_the_ledger_knows():
    source = Tape(2, 0)
    event = SKELETON["BlockSums"](blocks=20, dimension=2, noise=1.0)
    releaser = SKELETON["BlockReleaser"](event=event, block=5, source=source)
    pricer = open_pricer(policy="paper", horizon=100, contexts=1, source=source, simulation=True, covariance=releaser)
    pricer.quote([0.5])
    with pytest.raises(BudgetExhausted, match="BlockSums"):
        pricer.quote([0.5])


def test_the_accountant_refuses_its_event_until_it_has_a_branch():
    event = SKELETON["BlockSums"](blocks=20, dimension=2, noise=1.0)
    with pytest.raises(InvalidInput, match=r"^no accountant knows the event BlockSums"):
        loss_of(event, 1, Adjacency.REPLACE_ONE)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_its_branch_prices_live_noise_a_little_above_ideal_noise(adjacency):
    made, price = SKELETON["BlockSums"], SKELETON["loss_of_block_sums"]
    ideal, live = (made(blocks=20, dimension=2, noise=1.0, grid=grid) for grid in (0.0, grid_of(1.0)))
    assert price(ideal, 3, adjacency).mu_squared == pytest.approx(
        3 * (2.0 if adjacency is Adjacency.REPLACE_ONE else 1.0)
    )
    assert price(ideal, 3, adjacency).mu < price(live, 3, adjacency).mu < price(ideal, 3, adjacency).mu * (1 + 1e-8)
    assert (price(ideal, 3, adjacency).coordinates, price(live, 3, adjacency).coordinates) == (0, 180)


def test_its_event_must_describe_what_is_drawn():
    made, releaser = SKELETON["BlockSums"], SKELETON["BlockReleaser"]
    for grid, source in ((0.0, System()), (grid_of(1.0), Tape(2, 0))):
        with pytest.raises(InvalidInput, match=r"^event must describe this release"):
            releaser(event=made(blocks=1, dimension=2, noise=1.0, grid=grid), block=5, source=source)
    with pytest.raises(InvalidInput, match=r"^grid must be 0 or"):
        made(blocks=1, dimension=2, noise=1.0, grid=0.5)


def test_it_releases_no_more_blocks_than_were_paid_for():
    event = SKELETON["BlockSums"](blocks=2, dimension=2, noise=1.0)
    releaser = SKELETON["BlockReleaser"](event=event, block=3, source=Tape(2, 0))
    records = [releaser.absorb(SKELETON["FIRST"]).records for _ in range(6)]
    assert records == [0, 0, 3, 3, 3, 6]
    with pytest.raises(BudgetExhausted, match=r"^6 records are all that was paid for$"):
        releaser.absorb(SKELETON["FIRST"])
