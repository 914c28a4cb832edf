"""The neighbours a guarantee is about are a value that every ledger carries."""

from __future__ import annotations

from hushprice.accounting.adjacency import Adjacency
from hushprice.accounting.noise import open_ledger, without_noise
from hushprice.accounting.sensitivity import LossBounds


def test_names_that_receipts_print() -> None:
    assert {relation.value for relation in Adjacency} == {"replace-one", "zero-out"}


def test_the_papers_neighbours_replace_one_record() -> None:
    losses = LossBounds(gradient=4.0, difference=8.0, curvature=4.0)
    ledger = open_ledger(without_noise(1.0), horizon=10, dimension=2, losses=losses, max_estimates=3, live=True)
    assert ledger.adjacency is Adjacency.REPLACE_ONE
