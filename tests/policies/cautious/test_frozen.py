"""A pricer that does worse than its holdout freezes itself, says so, and goes on when somebody resumes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.product_runs import CONTEXTS, PRODUCT, live, serve

from hushprice import Pricer, Quote, open_pricer
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.frozen_slots import FrozenSlots
from hushprice.shops.trials import run_shop

WATCHED = replace(PRODUCT, holdout=0.3)


def sell(pricer: Pricer, count: int) -> list[float]:
    """Nobody buys but at today's price."""
    prices = []
    for n in range(count):
        quote = pricer.quote(CONTEXTS[n % len(CONTEXTS)])
        pricer.observe(quote.id, quote.price == 10.0)
        prices.append(quote.price)
    return prices


def test_prices_at_which_nobody_buys_freeze_a_pricer_until_it_is_resumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A third of customers in the holdout all buy. A sound pricer is frozen once in a hundred, at most."""
    pricer = live(WATCHED)
    assert not pricer.frozen
    sold = 0
    while not pricer.frozen:
        sell(pricer, 50)
        sold += 50
        assert sold < 2000
    assert "has frozen itself: up to slot" in caplog.messages[-1]
    assert repr(pricer).endswith(", frozen)")
    learned = pricer.learner.count
    assert sell(pricer, 60) == [10.0] * 60
    assert pricer.learner.count == learned + 60  # slots go on, and so does the holdout's side

    pricer.save(tmp_path / "pricer")
    loaded = Pricer.load(tmp_path / "pricer")
    assert loaded.frozen
    assert sell(loaded, 5) == [10.0] * 5
    loaded.resume()
    assert not loaded.frozen
    assert len(set(sell(loaded, 60))) > 1
    alarms: Any = loaded.quoter
    assert alarms.health.alarms == 1


def test_slots_that_were_frozen_are_learned_like_the_holdouts() -> None:
    """By hand. What was priced before the freeze, and is learned after it, stays what it was."""
    pricer: Any = live()
    quotes: list[Quote] = []
    serve(pricer, stop=20, quotes=quotes)
    pricer.freeze()
    pricer.freeze()
    serve(pricer, start=20, stop=40, quotes=quotes)
    assert {each.price for each in quotes[20:]} == {10.0}
    pricer.resume()
    pricer.resume()
    serve(pricer, start=40, stop=47, quotes=quotes)
    assert 10.0 not in {each.price for each in quotes[40:]}
    engine = pricer.engine
    assert engine.frozen.stretches == [(21, 41)]
    assert [engine._drawn(slot)[1] for slot in (20, 21, 40, 41)] == [False, True, True, False]


def test_policies_without_a_price_of_today_cannot_be_frozen() -> None:
    pricer = open_pricer(horizon=1000, contexts=1)
    assert not pricer.frozen
    with pytest.raises(InvalidInput, match=r"^policy must be 'cautious' to freeze prices, got 'noisy-newton'$"):
        pricer.freeze()


@pytest.mark.parametrize("stretches", [[(0, 3)], [(4, 3)], [(1, None), (5, 6)], [(1, 4), (3, 6)]])
def test_stretches_that_cannot_be_are_not_sound(stretches: Any) -> None:
    assert FrozenSlots([(1, 4), (4, 6), (9, None)]).sound
    assert not FrozenSlots(stretches).sound


class Loyal:
    """Customers who walk away from any price but today's: a gap that the model cannot have."""

    def contexts(self, start: int, count: int, rng: np.random.Generator) -> Any:
        return rng.uniform(-1.0, 1.0, (count, PRODUCT.contexts))

    def probabilities(self, start: int, contexts: Any, prices: Any) -> Any:
        return np.where(np.abs(prices - 10.0) < 1e-9, 0.9, 0.01)


def test_a_simulated_shop_freezes_itself_as_a_live_one_does() -> None:
    found = run_shop(
        "cautious", product=WATCHED, world=Loyal(), horizon=6000, trials=1, seed=2, keep_prices=True, workers=1
    )
    assert found.prices is not None
    assert (found.prices[0, -1000:] == 10.0).all()
    assert (found.prices[0, :48] != 10.0).any()
