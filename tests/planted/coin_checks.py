"""What must hold of policy cautious as it is run. Each check raises AssertionError otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.product_runs import absorbed, opened
from tests.service.cautious_runs import cautious_spec
from tests.service.learning_runs import same_noise

from hushprice.policies.cautious import saved
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared import quote_ids
from hushprice.service.store.values import Slot

_COUNT = 48  # the first batch


def _slots(demand: float, context: float, missing: int) -> list[Slot]:
    """The same quotes, whatever became of them."""
    ids, x = np.random.default_rng(3), np.full(2, context).astype("<f8").tobytes()
    return [
        Slot(n, None if n <= missing else x, 10.0 / 12.0, demand, True, n % 5 == 0, ids.bytes(16))
        for n in range(1, _COUNT + 1)
    ]


def _learned(demand: float, context: float = 0.1, missing: int = 0) -> tuple[ProductLearner, list[Any]]:
    with pytest.MonkeyPatch.context() as patch, same_noise():
        seen = absorbed(patch)
        learner = ProductLearner(cautious_spec())
        learner.learn(_slots(demand, context, missing), 0.0)
    return learner, seen


def coins_and_holdouts_are_not_the_records() -> None:
    """Two worlds with other customers who buy otherwise: every slot has the same coin, and is in the holdout or not."""
    (_, one), (_, other) = _learned(0.0), _learned(1.0, -0.7)
    for part in (2, 5):
        assert [each[part].tolist() for each in one] == [each[part].tolist() for each in other]
    assert {*one[0][2]} == {-1.0, 1.0}


def coins_are_not_the_clocks() -> None:
    """Whenever a quote is given, its coin is that of the random bytes its id is made of."""
    drawn = np.random.default_rng(4)
    for now in (0.0, 1.5, 1.7e9):
        random = drawn.bytes(32)
        given = bytes.fromhex(quote_ids.new_id(b"secret", "shop", random, now))
        assert quote_ids.uniform_of(given) == quote_ids.uniform_of(random)


def batches_end_by_slots_alone() -> None:
    """However many slots hold no record, the batch is released after the same slot."""
    ends = [[release.records for release in _learned(1.0, missing=missing)[0].pending] for missing in (0, 7, _COUNT)]
    assert ends == [[_COUNT]] * 3


def a_restart_keeps_what_was_drawn() -> None:
    """Between the draw of a release and its acceptance, too."""
    engine: Any = opened().engine
    engine.learner.skip(_COUNT)
    made = engine.learner.release()
    fresh: Any = opened().engine
    saved.restore_engine(saved.engine_state(engine), fresh)
    assert fresh.learner.ended
    assert fresh.learner.release().score.tolist() == made.score.tolist()
