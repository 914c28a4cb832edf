"""A shop with a store and a clock of its own, for tests of what is learned when."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from hushprice.noise import System
from hushprice.policies.newton.pricing import transition
from hushprice.service.learning.loop import LearningLoop
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.product import Product
from hushprice.service.store import open_store
from hushprice.service.store.lost_releases import lineage_of, mark_of
from hushprice.service.store.protocol import GRACE, LearnerStore
from hushprice.service.store.sqlite import SqliteStore
from hushprice.service.store.values import NewOutcome, NewQuote, OutcomeAnswer, SeenRelease, StoredRelease

COUNT, WINDOW = 90, 60.0
CONTEXTS = np.random.default_rng(8).uniform(-1.0, 1.0, (COUNT, 2))
PRICES = np.random.default_rng(9).uniform(0.2, 0.8, COUNT)
BOUGHT = [
    float(value > price) for value, price in zip(np.random.default_rng(10).uniform(size=COUNT), PRICES, strict=True)
]


def spec(**changes: Any) -> bytes:
    """A product with so little noise that records decide what is released."""
    given: dict[str, Any] = {
        "name": "tea",
        "currency": "EUR",
        "ceiling": 10.0,
        "contexts": 2,
        "features": "main",
        "horizon": 1000,
        "epsilon": 300.0,
        "delta": 1e-6,
        "quote_seconds": WINDOW,
        "outcome_seconds": WINDOW,
    }
    return msgspec.json.encode(Product(**given | changes))


def seen_of(releases: Sequence[StoredRelease]) -> SeenRelease:
    """The note of who has seen these, which are all of a history."""
    last, marks = releases[-1], [mark_of(release) for release in releases]
    return SeenRelease(last.product, last.sequence, last.records, marks[-1].digest, lineage=lineage_of(marks))


@contextmanager
def many_blocks() -> Iterator[None]:
    """Short batches have one block; here they have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transition, "BLOCKS", 1.0)
        yield


@contextmanager
def same_noise(seed: int = 5) -> Iterator[list[int]]:
    """The operating system's randomness, the same in every run: a draw more or less is seen. Yields the draws."""
    random, draws = np.random.default_rng(seed), []

    def integers(self: System, scale: float, count: int) -> list[int]:
        draws.append(count)
        return [round(scale * value) for value in random.standard_normal(count)]

    def laplace_integers(self: System, scale: float, count: int) -> list[int]:
        draws.append(count)
        return [round(scale * value) for value in random.laplace(size=count)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(System, "integers", integers)
        patch.setattr(System, "laplace_integers", laplace_integers)
        patch.setattr(System, "uniform", lambda self, stream, period: 0.5)
        yield draws


class Shop:
    """Quotes and outcomes straight into a store, by a clock that only `wait` moves."""

    def __init__(self, folder: Path, *specs: bytes, uri: str | None = None) -> None:
        self.path = folder / "shop.db"
        self.time = 1_000_000.0
        self.store: LearnerStore = open_store(uri or str(self.path), "learner")
        self.store.beat(self.time)
        self.ids: list[str] = []
        for each in specs or (spec(),):
            self.add(each)

    def add(self, body: bytes) -> None:
        self.store.add_product(msgspec.json.decode(body)["name"], body, b"{}", self.time)

    def wait(self, seconds: float) -> None:
        end = self.time + seconds
        while self.time < end:
            self.time = min(self.time + GRACE, end)
            self.store.beat(self.time)

    def quote(self, n: int, *, context: Any = None, product: str = "tea", **more: Any) -> str:
        vector = np.asarray(CONTEXTS[n] if context is None else context, dtype="<f8")
        given: dict[str, Any] = {
            "id": secrets.token_hex(16),
            "product": product,
            "key": "web",
            "context": vector.tobytes(),
            "price": float(PRICES[n]),
            "charged": "5.00",
            "expires": self.time + WINDOW,
            "version": 0,
            "holdout": False,
            "window": WINDOW,
            "cap": None,
        }
        self.store.write([NewQuote(**given | more)], [])
        self.ids.append((given | more)["id"])
        return self.ids[-1]

    def tell(self, identity: str, demand: float) -> OutcomeAnswer:
        return self.store.write([], [NewOutcome(identity, "web", demand)])[1][0]

    def serve(self, start: int = 0, stop: int = COUNT, product: str = "tea") -> None:
        """Quotes a second apart, each with its outcome."""
        for n in range(start, stop):
            self.tell(self.quote(n, product=product), BOUGHT[n])
            self.wait(1.0)

    def learning(self, **more: Any) -> LearningLoop:
        return LearningLoop(self.store, **{"now": lambda: self.time} | more)

    def releases(self, product: str = "tea") -> list[StoredRelease]:
        return self.store.releases(product)

    def learned(self, product: str = "tea") -> int:
        state = self.store.state(product)
        return 0 if state is None else state.learned

    def learner(self, product: str = "tea") -> ProductLearner:
        """What a learner that starts now would go on from."""
        (stored,) = [each for each in self.store.products() if each.name == product]
        learner, state = ProductLearner(stored.spec), self.store.state(product)
        if state is not None:
            learner.restore(state)
        return learner

    def back_up(self, to: Path) -> None:
        self.store.close()
        shutil.copy(self.path, to)
        self.store = SqliteStore(self.path)

    def restore_backup(self, backup: Path) -> None:
        self.store.close()
        for file in self.path.parent.glob("shop.db*"):
            file.unlink()
        shutil.copy(backup, self.path)
        self.store = SqliteStore(self.path)

    def close(self) -> None:
        self.store.close()


def public(releases: list[StoredRelease]) -> list[tuple[Any, ...]]:
    """What everybody may see of releases, but for the time of day."""
    return [(r.sequence, r.version, r.kind, r.records, r.batch, r.numbers, r.belief) for r in releases]


def learn_all(shop: Shop, **more: Any) -> LearningLoop:
    """A learner that has learned everything there is, after all deadlines."""
    shop.wait(WINDOW + 1.0)
    learning = shop.learning(**more)
    while learning.turn():
        pass
    return learning


def releases_of(folder: Path, act: Callable[[Shop], None]) -> list[Any]:
    """The public side of a shop that `act` happens to, with the same noise every time."""
    folder.mkdir()
    shop = Shop(folder)
    with same_noise():
        act(shop)
    shown = public(shop.releases())
    shop.close()
    return shown
