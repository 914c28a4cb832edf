"""The learner's loop: one process, under a lease, learns what is due of every product and stores what it releases.

A release leaves this process only through `commit`, together with the state it came from. Whatever goes wrong before,
what is held in memory is forgotten and read back: a release that was stored is used as it is, and noise that was not
stored was seen by nobody. docs/proofs/operation.md says why that is enough.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice.errors import HushpriceError
from hushprice.service.learning.asked_totals import AskedTotals
from hushprice.service.learning.certifier import AT_ONCE, Certifier
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.product import Product
from hushprice.service.store import decisions
from hushprice.service.store.protocol import LEASE, LearnerStore, LeaseLost, StoreUnavailable
from hushprice.service.store.values import LearnerReport, SeenRelease, StoredProduct

# While a chunk is stored, quotes wait. With one commit a chunk and a pause after it, about one quote in a hundred meets
# one, and a small chunk is soon stored: so a refit hardly moves the slowest hundredth of quotes.
CHUNK = 2000  # slots between two commits, at most
RENEW = 1.0  # seconds between two renewals of the lease
PAUSE = 0.3  # seconds to wait where nothing is due
BREATH = 0.15  # seconds between two chunks where more is due
RETRY = 60.0  # seconds that a product which failed is left alone
ERASED = 500  # quotes erased at once, at most
ERASING = 3600.0  # seconds between two looks for quotes to erase
NICE = 10  # quoting comes first
ITSELF = "learner"  # who froze it, in the trail

_log = logging.getLogger(__name__)


class FitSeconds(msgspec.Struct):
    """How long learning a chunk and storing its releases took: for the operator alone, it depends on records."""

    count: int = 0
    total: float = 0.0
    largest: float = 0.0

    def add(self, seconds: float) -> None:
        """Count a chunk that took so many seconds."""
        self.count += 1
        self.total += seconds
        self.largest = max(self.largest, seconds)


class LearningLoop:
    """Learns for one store. `turn` is one pass over products with work, `run` goes on until it is stopped."""

    def __init__(
        self,
        store: LearnerStore,
        *,
        signing_key: Ed25519PrivateKey | None = None,
        now: Callable[[], float] = time.time,
        chunk: int = CHUNK,
    ) -> None:
        self.holder = secrets.token_hex(16)
        self.fit_seconds: dict[str, FitSeconds] = {}
        self.set_aside: dict[str, float] = {}  # products that failed, and when each is tried again
        self._uncertified: dict[str, float] = {}
        self._next_erasing = -math.inf  # when quotes to erase are looked for again
        self._store = store
        self._now = now
        self._chunk = chunk
        self._renewed = -math.inf
        self._looked = now()  # when it had looked at all products, last
        self._logged = ""  # why it starts over, as it stands in the log
        self._learners: dict[str, ProductLearner] = {}  # of products that there was work with
        self._waiting: set[str] = set()  # products whose totals are to be asked for, whether a slot is due or not
        self._released = 0
        # Reading and fitting give way to quotes. Storing does not: who holds the store and waits for a processor makes
        # every quote wait for it too.
        self._background = ThreadPoolExecutor(1, "hushprice-fit", _lower_priority)
        self._totals = AskedTotals(_lower_priority)
        self._certifier = None if signing_key is None else Certifier(store, signing_key)

    def run(self, stop: threading.Event) -> None:
        """Learn until `stop` is set, then let go of the lease."""
        try:
            while not stop.is_set():
                stop.wait(BREATH if self.turn() else PAUSE)
        finally:
            with contextlib.suppress(StoreUnavailable):
                self._store.drop_lease(self.holder)

    def turn(self) -> bool:
        """Learn a chunk of every product that something is due of; returns whether more is.

        A lost lease or a failing store forgets what is in memory.
        """
        try:
            self._keep_lease()
            due = [*dict.fromkeys((*self._store.products_to_learn(), *self._waiting))]
            names = [name for name in due if not self._is_set_aside(name)]
            products = self._store.products(names) if names else []
            more = [self._try_product(product, self._advance) for product in products]
            self._certify_some()
            self._erase_some()
            self._logged, self._looked = "", self._now()
            return any(more)
        except (LeaseLost, StoreUnavailable) as problem:
            if self._logged != type(problem).__name__:  # once, not at every try
                self._logged = type(problem).__name__
                _log.warning("learning starts over: %s", self._logged)
            if isinstance(problem, LeaseLost):
                self._looked = self._now()  # another looks
            self._forget()
            return False

    def _is_set_aside(self, name: str) -> bool:
        return self._now() < self.set_aside.get(name, -math.inf)

    def _try_product(self, product: StoredProduct, work: Callable[[StoredProduct], bool]) -> bool:
        """What `work` says of a product. Its failure never stops the others, and is not explained."""
        name = product.name
        try:
            self._keep_lease()
            return work(product)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception as problem:
            _log.error("product %s is set aside: %s", name, type(problem).__name__)
            learner = self._learners.pop(name, None)
            # Noise may have caused it. Drawing again until it does not would be a choice among draws.
            drawn = learner is not None and learner.drawn
            self.set_aside[name] = math.inf if drawn else self._now() + RETRY
            return False

    def _advance(self, product: StoredProduct) -> bool:
        learner = self._learner(product)
        started = time.perf_counter()
        taken = self._background.submit(self._fit, learner).result()
        if taken:
            self._commit(learner, started)
        joined = learner.waits
        if joined and not self._join(learner, started):
            return True
        if product.status == "retired" and learner.learned >= product.slots and not learner.retired:
            learner.retire()
            self._commit(learner, started)
        self._freeze_where_worse(product, learner)
        return joined or taken == self._chunk

    def _join(self, learner: ProductLearner, started: float) -> bool:
        """Store the release of a batch that is over, which is stored; False while two aggregators have its totals."""
        name = learner.product.name
        self._waiting.add(name)
        totals = self._totals.of(learner)
        if totals is None:
            return False
        learner.join(totals, self._now())
        self._commit(learner, started)
        self._waiting.discard(name)
        return True

    def _freeze_where_worse(self, product: StoredProduct, learner: ProductLearner) -> None:
        """The reference price for everybody, once a release has shown that prices earn too little.

        Only when that release is stored: what is done because of it shows it. A freeze that a crash has prevented is
        made up for; one that somebody has resumed is not made again.
        """
        name = product.name
        if learner.alarmed is None or product.status != "open":
            return
        made = [each.at for each in self._store.history(name) if each.records == learner.alarmed]
        acts = [each.at for each in self._store.changes(name) if each.what in ("freeze", "resume")]
        if made and not any(at >= made[0] for at in acts):
            self._store.set_status(name, "frozen", self._now(), ITSELF)
            _log.warning(
                "product %s has frozen itself: up to slot %d prices earned less than its holdout, beyond its risk",
                name,
                learner.alarmed,
            )

    def _erase_some(self) -> None:
        """Erase quotes whose retention has ended: a few at once of each product, and after all of them a while later.

        Also of products that nothing is due of. One statement tells which have old quotes.
        """
        now = self._now()
        if now < self._next_erasing:
            return
        today = int(now // 86400)
        old = {name: today - day for name, day in self._store.oldest_quotes() if not self._is_set_aside(name)}
        products = self._store.products([name for name, age in old.items() if age > 0])
        more = [self._try_product(each, lambda each: self._erase_outdated(each, old[each.name])) for each in products]
        if not any(more):
            self._next_erasing = now + ERASING

    def _erase_outdated(self, stored: StoredProduct, age: int) -> bool:
        """Returns whether there may be more. `age` is that of the oldest quote, in days."""
        product = msgspec.json.decode(stored.spec, type=Product)
        if age <= product.retention_days:
            return False
        before, capped = int(self._now() // 86400) - product.retention_days, product.records_per_customer is not None
        return self._store.erase_quotes(product.name, before, ERASED, capped=capped) == ERASED

    def _fit(self, learner: ProductLearner) -> int:
        """Learn what is due, a chunk at most; returns how many slots. What is released on the way is pending."""
        if learner.waits:
            return 0
        slots = self._store.due(learner.product.name, learner.learned, self._chunk)
        taken = 0
        while taken < len(slots) and not learner.waits:
            taken += learner.learn(slots[taken:], self._now())
        return taken

    def _certify_some(self) -> None:
        """A few of the certificates that are due. One that cannot be issued stops no learning."""
        if self._certifier is None:
            return
        now = self._now()
        due = {
            name: basis
            for name, basis in self._certifier.due(self._released, now)
            if now >= self._uncertified.get(name, -math.inf) and not self._is_set_aside(name)
        }
        names = list(due)[:AT_ONCE]
        for product in self._store.products(names) if names else []:
            self._try_product(product, lambda each: self._certify(each, due[each.name]))

    def _certify(self, product: StoredProduct, basis: str) -> bool:
        assert self._certifier is not None
        learner = self._learner(product)
        try:
            self._certifier.issue(learner, basis, self._now())
        except HushpriceError as problem:  # made of public numbers, so its text may be told
            _log.error("product %s has no new certificate: %s", product.name, problem)
            self._uncertified[product.name] = self._now() + RETRY
        return False

    def _commit(self, learner: ProductLearner, started: float) -> None:
        released = bool(learner.pending)
        self._store.commit(self.holder, learner.state(), learner.pending, self._now())
        self._released += len(learner.pending)
        learner.committed()
        if released:
            name = learner.product.name
            self.fit_seconds.setdefault(name, FitSeconds()).add(time.perf_counter() - started)

    def _learner(self, product: StoredProduct) -> ProductLearner:
        """The product's learner as it is stored, at or past the highest release that any quoter has used."""
        learner = self._learners.get(product.name) or self._read(product)
        seen = self._store.highest_seen(product.name)
        if seen is not None or product.skipped_releases > learner.sequence:
            learner = self._skip_lost(product, seen or SeenRelease(product.name, product.skipped_releases, 0))
        self._learners[product.name] = learner
        return learner

    def _read(self, product: StoredProduct) -> ProductLearner:
        learner = ProductLearner(product.spec)
        stored = self._store.state(product.name)
        if stored is not None:
            learner.restore(stored)
        return learner

    def _skip_lost(self, product: StoredProduct, seen: SeenRelease) -> ProductLearner:
        """The learner where the store lacks a release that was used: what was charged is not learned again.

        A crash between the two commits leaves a state behind what the product has skipped, which leads here again.
        """
        learner = self._read(product)  # not from memory, which may itself be what is old
        to = self._store.skip_to(self.holder, seen, self._now())
        if to.sequence > learner.sequence:
            _log.warning("product %s: an older backup was restored, going on after slot %d", product.name, to.records)
            learner.jump(to)
            self._store.commit(self.holder, learner.state(), [], self._now())
        return learner

    def _keep_lease(self) -> None:
        now = self._now()
        if 0.0 <= now - self._renewed < RENEW:
            return
        aside = sum(now < until for until in self.set_aside.values())
        if not self._store.take_lease(self.holder, now, LearnerReport(decisions.coarse(now - self._looked), aside)):
            raise LeaseLost("another learner holds the lease")
        if not 0.0 <= now - self._renewed < LEASE:
            self._learners.clear()  # another may have held it in between, and have released
        self._renewed = now

    def _forget(self) -> None:
        self._learners.clear()
        self._renewed = -math.inf


def _lower_priority() -> None:
    """Let others have the processor first; on Linux this is about the calling thread alone.

    Not SCHED_IDLE: that gets what nobody else wants, which on a busy machine is nothing, and releases would not come.
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
