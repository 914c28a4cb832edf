"""Compiling before the first slot is due: a learner that waits for a compiler loses its lease meanwhile."""

from __future__ import annotations

import struct

import msgspec

from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.product import Product
from hushprice.service.store.values import SeenRelease, Slot

_PRODUCT = Product(name="precompile", currency="EUR", ceiling=10.0, contexts=1, unit_cost=1.0, epsilon=20.0)
_CONTEXT = struct.pack("<d", 0.5)


def precompile_learner() -> None:
    """Learn slots that nobody asked for: a batch that ends, one that goes on after a look, one that is skipped to."""
    learner = ProductLearner(msgspec.json.encode(_PRODUCT))
    went_on = False
    while not (went_on and learner.version):
        before, first = learner.version, learner.learned + 1
        due = range(first, (learner.next_release or first) + 1)
        learner.learn([Slot(slot, _CONTEXT, 0.5, 1.0, True) for slot in due], 0.0)
        went_on = went_on or learner.version == before
    learner.committed()
    learner.jump(SeenRelease(_PRODUCT.name, learner.sequence, learner.learned + 1))
