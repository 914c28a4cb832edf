"""What this process prices by: the last release of every product, and who may ask.

Refreshed twice a second from the store. Quotes read it without asking anybody, so they go on while the store is away.
"""

from __future__ import annotations

import logging

from hushprice.errors import HushpriceError, first_line
from hushprice.service.quoting import learning_health
from hushprice.service.quoting.key_use import KeyUse
from hushprice.service.quoting.learning_health import LearningHealth
from hushprice.service.quoting.priced_product import PricedProduct, ReleaseSummary, summary_of
from hushprice.service.shared.keys import Keyring
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store.protocol import QuoterStore, StoreUnavailable
from hushprice.service.store.values import SeenRelease, StoredProduct, StoredRelease

log = logging.getLogger("hushprice.service")
POLL = 0.5  # seconds between two looks at the store; new releases must reach quotes within a second


class ProductTable:
    """Read by the event loop, replaced part by part by the thread that refreshes it."""

    def __init__(self, seen_file: SeenReleasesFile) -> None:
        self._seen_file = seen_file
        self._looked = False
        self.products: dict[str, PricedProduct] = {}
        self.keyring = Keyring()
        self.key_use = KeyUse()
        self.learning = LearningHealth()
        self.unnoted = False  # is there a release that could not be noted, and is therefore not used?

    def refresh(self, store: QuoterStore) -> list[SeenRelease]:
        """Look at the store; returns the releases seen for the first time."""
        self.keyring = keyring = Keyring(store.api_keys())
        self.key_use.refresh(store, quotas=keyring.quotas)
        listed = [(stored.name, self._renewed_or_old(store, stored)) for stored in store.products()]
        products = {name: priced for name, priced in listed if priced is not None}
        new: list[SeenRelease] = []
        try:
            # On disk before a price is made of it, and before anybody is shown that it is there: see seen_releases.py.
            new = self.note(store, products)
            self._log_noted()
        except OSError as problem:
            self._log_unnoted(problem)
            products = {name: self._without_new_release(priced) for name, priced in products.items()}
        self.products = products
        self.learning = learning_health.look(store, self.learning)
        return new

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
        self.refresh(store)
        if self.unnoted:
            raise StoreUnavailable("a release could not be noted")
        return newest

    def _without_new_release(self, priced: PricedProduct) -> PricedProduct:
        """A product as it is now, by the last release that was noted: a freeze must not wait for a full disk."""
        if priced.seen is None or not self._seen_file.is_new(priced.seen):
            return priced
        before = self.products.get(priced.product.name)
        noted = None if before is None else before.release
        return PricedProduct(
            priced.stored, noted, priced.product, () if before is None else before.history, priced.clipped
        )

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

    def _renewed_or_old(self, store: QuoterStore, stored: StoredProduct) -> PricedProduct | None:
        before = self.products.get(stored.name)
        try:
            return self._renewed(store, stored, before)
        except HushpriceError as problem:  # what one product lacks must not keep news from the others
            log.error("product %s stays as it was: %s", stored.name, type(problem).__name__)
            return before

    def _renewed(self, store: QuoterStore, stored: StoredProduct, before: PricedProduct | None) -> PricedProduct:
        release = store.latest_release(stored.name)
        if before is None:
            return PricedProduct(stored, release, None, _history(store, release, None))
        if before.same_but_slots(stored, release):
            before.slots = stored.slots
            return before
        product = before.product if before.stored.spec == stored.spec else None
        return PricedProduct(stored, release, product, _history(store, release, before), before.clipped)

    def clipped(self) -> dict[str, int]:
        """Customers whose numbers were clipped here, by product: raw, for the operator alone."""
        return {name: priced.clipped.count for name, priced in self.products.items()}


def _is_behind(products: dict[str, PricedProduct], seen: SeenRelease) -> bool:
    priced = products.get(seen.product)
    return priced is not None and seen.sequence > max(priced.sequence, priced.stored.skipped_releases)


def _history(
    store: QuoterStore, release: StoredRelease | None, before: PricedProduct | None
) -> tuple[ReleaseSummary, ...]:
    """All releases up to this one; of those that are listed already, only the last is read again."""
    if release is None:
        return ()
    if before is not None and before.release == release:
        return before.history
    if before is not None and before.release is not None and before.sequence < release.sequence:
        newer = store.releases(release.product, before.sequence - 1)
        if newer and newer[0] == before.release:
            return (*before.history, *(summary_of(each) for each in newer[1:] if each.sequence <= release.sequence))
    listed = store.releases(release.product)
    return tuple(summary_of(each) for each in listed if each.sequence <= release.sequence)
