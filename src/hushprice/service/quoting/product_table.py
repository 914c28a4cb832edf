"""What this process prices by: the last release of every product, and who may ask.

Refreshed twice a second from the store. Quotes read it without asking anybody, so they go on while the store is away.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from hushprice.errors import HushpriceError, first_line
from hushprice.service.quoting import learning_health
from hushprice.service.quoting.key_use import KeyUse
from hushprice.service.quoting.learning_health import LearningHealth
from hushprice.service.quoting.priced_product import PricedProduct
from hushprice.service.quoting.product_health import in_the_log, is_misfit, status_of
from hushprice.service.shared.keys import Keyring
from hushprice.service.shared.report_messages import HealthStatus
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store.lost_releases import Mark, is_on, lineage_of, mark_of
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable
from hushprice.service.store.values import ProductHead, ReleaseSummary, SeenRelease, StoredProduct, StoredRelease

log = logging.getLogger("hushprice.service")
POLL = 0.5  # seconds between two looks at the store; new releases must reach quotes within a second


class ProductTable:
    """Read by the event loop, replaced part by part by the thread that refreshes it."""

    def __init__(self, seen_file: SeenReleasesFile) -> None:
        self._seen_file = seen_file
        self._looked = False
        self._marks: dict[str, tuple[float | str | None, ...]] = {}
        self._certified: dict[str, bytes] = {}  # the last certificate of each product that was shown
        self.products: dict[str, PricedProduct] = {}
        self._statuses: dict[str, HealthStatus | None] = {}  # as they were last looked at
        self._misfits: set[str] = set()  # products whose visitors bought otherwise than believed then
        self.unplanned: list[str] = []  # of these, those without a release: planning one takes as long as opening ten
        self.unopened: list[str] = []  # of the first look: opening all of them takes seconds, and a start should not
        self.frozen_here: Set[str] = frozenset()  # by this process, whatever the store says
        self.keyring = Keyring()
        self.key_use = KeyUse()
        self.learning = LearningHealth()
        self.unnoted = False  # is there a release that could not be noted, and is therefore not used?

    @property
    def freeze_file(self) -> Path:
        """Where this machine notes freezes that the store lacks."""
        return self._seen_file.beside(".freezes")

    def refresh(self, store: QuoterStore) -> list[SeenRelease]:
        """Look at the store; returns the releases seen for the first time."""
        self.keyring = keyring = Keyring(store.api_keys())
        self.key_use.refresh(store, quotas=keyring.quotas)
        heads = store.heads()
        renewed = self._renewed(store, [head.name for head in heads if self._marks.get(head.name) != head.mark])
        new: list[SeenRelease] = []
        marks = {head.name: head.mark for head in heads}
        try:
            # On disk before a price is made of it, and before anybody is shown that it is there: see seen_releases.py.
            new = self.note(store, renewed)
            self._log_noted()
        except OSError as problem:
            self._log_unnoted(problem)
            for name, priced in renewed.items():
                renewed[name] = self._without_new_release(priced)
                marks.pop(name, None)  # looked at again, until its release is noted
        first = not self.products
        self._take(heads, renewed)
        self._marks = marks
        for priced in () if first else renewed.values():
            self._log_status(priced)
        self.learning = learning_health.look(store, self.learning)
        return new

    def _log_status(self, priced: PricedProduct) -> None:
        """One line where a product does otherwise than when it was last looked at."""
        name, now = priced.product.name, status_of(priced)
        was, self._statuses[name] = self._statuses.get(name), now
        if was is not None and was != now:
            log.info("product %s is now %s, and was %s", name, in_the_log(now), in_the_log(was))
        misfit = is_misfit(priced)
        if misfit and name not in self._misfits:
            log.warning("product %s: visitors lately buy otherwise than believed, beyond noise and chance", name)
        (self._misfits.add if misfit else self._misfits.discard)(name)

    def _take(self, heads: Iterable[ProductHead], renewed: dict[str, PricedProduct]) -> None:
        """Use what is new, in the order products were made; the others get their number of slots."""
        products = {}
        for head in heads:
            priced = renewed.get(head.name) or self.products.get(head.name)
            if priced is not None:
                priced.slots, priced.frozen_here = head.slots, head.name in self.frozen_here
                products[head.name] = priced
        self.products = products
        self._freeze()  # again: somebody may have asked for it since

    def note(self, store: QuoterStore, products: dict[str, PricedProduct]) -> list[SeenRelease]:
        """Write down the highest releases in use, after telling the store of those it may not have; returns the new."""
        if not self._looked or self._unreported(products):
            self._seen_file.read_again()
            unreported = self._unreported(products) if self._looked else self._seen_file.all()
            if unreported:  # before the note is replaced: afterwards nobody would know
                store.report_seen(unreported)
            self._looked = True
        return self._seen_file.note(self._used(products))

    def certificate(self, store: QuoterStore, product: str) -> bytes | None:
        """The newest certificate. It may have come after a new release, so releases until then are noted first."""
        newest = store.certificate(product)
        if newest == self._certified.get(product) and not self.unnoted:  # as it was when they were: anybody may ask
            return newest
        self.refresh(store)
        if self.unnoted:
            raise StoreUnavailable("a release could not be noted")
        if newest is not None:
            self._certified[product] = newest
        return newest

    def history(self, store: QuoterStore, product: str) -> list[ReleaseSummary]:
        """The releases of a product up to the one in use, which is noted; so they were noted before they are shown."""
        listed, used = store.history(product), self.products[product].release
        if listed and used is not None and listed[-1] == used.summary:  # nothing new; with many products a look is long
            return listed
        self.refresh(store)
        used = self.products[product].release
        shown = [] if used is None else [each for each in listed if each.sequence <= used.sequence]
        if self.unnoted and used is not None and used.summary not in shown:
            raise StoreUnavailable("a release could not be noted")  # and those before it may be others as well
        return shown

    def open_some(self, most: int = 1) -> bool:
        """Make the costly parts of some products of the first look; returns whether more are left."""
        for name in self.unopened[:most]:
            priced = self.products.get(name)
            try:
                if priced is not None and priced.open().planned:
                    self._log_status(priced)
                elif priced is not None:
                    self.unplanned.append(name)
            except HushpriceError as problem:
                log.error("product %s is left out: %s", name, type(problem).__name__)
                self.products = {other: each for other, each in self.products.items() if other != name}
        del self.unopened[:most]
        return bool(self.unopened)

    def plan_one(self) -> float | None:
        """Plan the first batch of one of the products that were opened without; returns the seconds it took.

        None where none is left.
        """
        began = time.perf_counter()
        while self.unplanned:
            priced = self.products.get(self.unplanned.pop(0))
            if priced is not None and not (priced.planned or priced.retired):
                try:
                    self._log_status(priced)
                except HushpriceError as problem:
                    log.error("product %s cannot be priced: %s", priced.product.name, type(problem).__name__)
                return time.perf_counter() - began
        return None

    def freeze_here(self, names: Set[str]) -> None:
        """Freeze these products here, at once, and no others. Called by the event loop, also during a refresh."""
        thawed, self.frozen_here = self.frozen_here - names, names
        for name in thawed & self.products.keys():
            self.products[name].frozen_here = False
        self._freeze()

    def _freeze(self) -> None:
        for name in self.frozen_here & self.products.keys():
            self.products[name].frozen_here = True

    def _without_new_release(self, priced: PricedProduct) -> PricedProduct:
        """A product as it is now, by the last release that was noted: a freeze must not wait for a full disk."""
        if priced.seen is None or not self._seen_file.is_new(priced.seen):
            return priced
        before = self.products.get(priced.product.name)
        noted, lineage = (None, b"") if before is None else (before.release, before.lineage)
        return PricedProduct(priced.stored, noted, priced.product, priced.clipped, lineage)

    def _log_unnoted(self, problem: OSError) -> None:
        why = f"new releases are not used, because they cannot be noted: {first_line(problem)}"
        if not self.products:  # at the start: prices would go back to the reference price
            raise StoreUnavailable(why) from None
        if not self.unnoted:
            log.error("%s", why)
        self.unnoted = True

    def _log_noted(self) -> None:
        if self.unnoted:
            log.warning("releases are noted and used again")
        self.unnoted = False

    def _used(self, products: dict[str, PricedProduct]) -> list[SeenRelease]:
        return [priced.seen for priced in products.values() if priced.seen is not None]

    def _unreported(self, products: dict[str, PricedProduct]) -> list[SeenRelease]:
        """What this machine has seen and the store may lack: it is behind, or has another release of that number."""
        replaced = {each.product for each in self._used(products) if self._seen_file.is_new(each)}
        return [each for each in self._seen_file.all() if each.product in replaced or _is_behind(products, each)]

    def _renewed(self, store: QuoterStore, names: Sequence[str]) -> dict[str, PricedProduct]:
        """These products as they are now; those of the first look are opened later."""
        if not names:
            return {}
        first = not self.products
        products, releases = store.products(names), {each.product: each for each in store.latest_releases(names)}
        renewed = {}
        for stored in products:
            try:
                priced = self._priced(store, stored, releases.get(stored.name))
                renewed[stored.name] = priced if first else priced.open()
            except HushpriceError as problem:  # what one product lacks must not keep news from the others
                log.error("product %s stays as it was: %s", stored.name, type(problem).__name__)
        if first:
            self.unopened = list(renewed)
        return renewed

    def _priced(self, store: QuoterStore, stored: StoredProduct, release: StoredRelease | None) -> PricedProduct:
        before = self.products.get(stored.name)
        kept = before is not None and before.stored.spec == stored.spec
        product, clipped = (before.product if kept else None, before.clipped) if before is not None else (None, None)
        return PricedProduct(stored, release, product, clipped, self._lineage(store, release, before))

    def _lineage(self, store: QuoterStore, release: StoredRelease | None, before: PricedProduct | None) -> bytes:
        """The lineage of a release: from the note of it, from the one in use and those since, or from all of them."""
        if release is None:
            return b""
        known, made = self._seen_file.noted(release.product), mark_of(release)
        if known is not None and Mark(known.sequence, known.digest) == made and is_on(known.lineage, made):
            return known.lineage
        if before is not None and before.release is not None and before.sequence < made.sequence:
            newer = [mark_of(each) for each in store.releases(release.product, before.sequence - 1)]
            if newer and is_on(before.lineage, newer[0]):
                return lineage_of([*(each for each in newer if each.sequence < made.sequence), made], before.lineage)
        marks = [mark_of(each) for each in store.releases(release.product)]
        return lineage_of([*(each for each in marks if each.sequence < made.sequence), made])

    def clipped(self) -> dict[str, int]:
        """Customers whose numbers were clipped here, by product: raw, for the operator alone."""
        return {name: priced.clipped.count for name, priced in self.products.items()}


def _is_behind(products: dict[str, PricedProduct], seen: SeenRelease) -> bool:
    priced = products.get(seen.product)
    return priced is not None and seen.sequence > max(priced.sequence, priced.stored.skipped_releases)
