"""The ledger of noisy-newton: all batches, once."""

from __future__ import annotations

import pytest

from hushprice.errors import BudgetExhausted, InvalidInput
from hushprice.policies.newton.noise import calibrate, column_norm, open_ledger, strategy
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import NotPrivate
from hushprice.privacy.ledger import Entry

CLAIMED = EpsilonDelta(1.0, 1e-6)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("live", [True, False])
def test_all_batches_are_paid_for_once(adjacency: Adjacency, live: bool) -> None:
    noise = calibrate(CLAIMED, dimension=3, levels=4, adjacency=adjacency)
    event = noise.event(3, live=live)
    ledger = open_ledger(noise, event, adjacency)
    assert (ledger.claimed, ledger.allowance, ledger.spent) == (CLAIMED, (Entry(event, 1),), ())
    spent = ledger.spend(event)
    assert spent.epsilon(CLAIMED.delta) <= CLAIMED.epsilon
    with pytest.raises(BudgetExhausted, match="0 left"):
        spent.spend(event)
    with pytest.raises(BudgetExhausted, match="0 left"):
        ledger.spend(noise.event(3, live=not live))


def test_without_noise_nothing_is_claimed() -> None:
    noise = calibrate(CLAIMED, dimension=3, levels=4, adjacency=Adjacency.REPLACE_ONE)
    assert open_ledger(noise, NotPrivate(), Adjacency.REPLACE_ONE).claimed is None


def test_a_batch_of_one_block_is_released_as_it_is() -> None:
    assert column_norm(0) == pytest.approx(1.0)
    assert column_norm(5) == strategy(5).column_norm(32) > 1.0


@pytest.mark.parametrize("epsilon", [1e6, 1e9])
def test_a_budget_far_from_any_of_use_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match="is out of reach"):
        calibrate(EpsilonDelta(epsilon, 1e-6), dimension=3, levels=4, adjacency=Adjacency.REPLACE_ONE)
