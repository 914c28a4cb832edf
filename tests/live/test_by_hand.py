"""Records that an engine is given by hand, beside quotes: a pricer goes on, is saved and is read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from hushprice import Pricer, Product, open_pricer
from hushprice.errors import InvalidInput
from hushprice.live import saved
from hushprice.noise import Tape
from hushprice.policies.saved_pricer import array, plain

SHOP = Product(floor=8.0, ceiling=12.0, reference_price=10.0, conversion=0.4, contexts=1, epsilon=30.0, delta=1e-6)


def newton() -> Pricer:
    return open_pricer(horizon=400, contexts=1, epsilon=50.0, delay=2, source=Tape(1, 0), simulation=True)


def cautious() -> Pricer:
    return open_pricer(product=SHOP, horizon=400, delay=2, source=Tape(1, 0), simulation=True)


def serve(pricer: Pricer, count: int, seed: int) -> list[float]:
    draws, prices = np.random.default_rng(seed), []
    for _ in range(count):
        quote = pricer.quote(draws.uniform(-1.0, 1.0, 1))
        pricer.observe(quote.id, bool(draws.random() < 0.5))
        prices.append(quote.price)
    return prices


def feed(pricer: Pricer, count: int) -> None:
    engine: Any = pricer.engine
    draws = np.random.default_rng(9)
    for _ in range(count):
        u, v = pricer.features.parts(draws.uniform(-1.0, 1.0, 1))
        engine.step(u + draws.uniform(0.7, 1.0) * v, float(draws.random() < 0.4))


@pytest.mark.parametrize("opened", [newton, cautious])
@pytest.mark.parametrize("first", [0, 40])
def test_a_pricer_that_learned_records_by_hand_is_read_back_and_goes_on_the_same(
    opened: Callable[[], Pricer], first: int, tmp_path: Path
) -> None:
    pricer = opened()
    serve(pricer, first, 1)
    feed(pricer, 60)
    serve(pricer, 30, 2)
    pricer.save(tmp_path / "pricer")
    read = Pricer.load(tmp_path / "pricer", simulation=True)
    assert serve(read, 60, 3) == serve(pricer, 60, 3)
    assert read.slots.learned == pricer.slots.learned
    learned: Any = read.learner
    assert learned.count == read.slots.learned + 60


def test_a_quote_is_learned_with_its_own_coin_whatever_was_learned_by_hand() -> None:
    pricer = cautious()
    engine: Any = pricer.engine
    asked: list[int] = []
    drawn = engine._drawn
    engine._drawn = lambda slot: asked.append(slot) or drawn(slot)
    feed(pricer, 10)
    asked.clear()
    serve(pricer, 6, 2)
    assert asked == [1, 2, 3, 1, 4, 2, 5, 3, 6]  # from the fourth quote on, the slot that is due, then the quote's own


@pytest.mark.parametrize("by_hand", [-1, 61])
def test_a_count_of_records_by_hand_that_does_not_fit_is_refused(by_hand: int, tmp_path: Path) -> None:
    pricer = cautious()
    feed(pricer, 60)
    form: Any = saved.saved_form("cautious")
    state = form.state_of(pricer)
    assert state.by_hand == 60
    body = msgspec.msgpack.encode(msgspec.structs.replace(state, by_hand=by_hand), enc_hook=plain)
    state = msgspec.msgpack.decode(body, type=form.State, dec_hook=array)
    with pytest.raises(InvalidInput, match=r"the saved (by_hand|status) does not fit"):
        form.restore(state, cautious())
