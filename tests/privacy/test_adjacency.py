"""The neighbours a guarantee is about are a value that every ledger carries."""

from __future__ import annotations

import pytest

from hushprice.errors import InvalidInput
from hushprice.policies.paper.noise import open_ledger, without_noise
from hushprice.privacy.adjacency import Adjacency, adjacency_of
from hushprice.privacy.sensitivity import LossBounds


def test_names_that_receipts_print() -> None:
    assert {relation.value for relation in Adjacency} == {"replace-one", "zero-out"}


def test_the_papers_neighbours_replace_one_record() -> None:
    losses = LossBounds(gradient=4.0, difference=8.0, curvature=4.0)
    ledger = open_ledger(without_noise(1.0), horizon=10, dimension=2, losses=losses, max_estimates=3, live=True)
    assert ledger.adjacency is Adjacency.REPLACE_ONE


def test_a_relation_is_found_by_its_name_and_no_other_name_will_do() -> None:
    for relation in Adjacency:
        assert adjacency_of(relation.value) is adjacency_of(relation) is relation
    for name in ("replace_one", "", "both", 1, None):
        with pytest.raises(InvalidInput, match=r"^adjacency must be one of replace-one, zero-out, got"):
            adjacency_of(name)  # type: ignore[arg-type]
