"""What this process prices by: the last release of every product, and who may ask.

Refreshed twice a second from the store. Quotes read it without asking anybody, so they go on while the store is away.
"""

from __future__ import annotations

import logging
import time

from hushprice.errors import HushpriceError, first_line
from hushprice.service.quoting.priced_product import Held, Made, made
from hushprice.service.shared.keys import Keyring
from hushprice.service.shared.seen_releases import SeenFile
from hushprice.service.store.protocol import QuoterStore, Seen, StoredProduct, StoredRelease, StoreUnavailable

log = logging.getLogger("hushprice.service")
POLL = 0.5  # seconds between two looks at the store; new releases must reach quotes within a second


class Board:
    """Read by the event loop, replaced part by part by the thread that refreshes it."""

    def __init__(self, seen: SeenFile) -> None:
        self._seen = seen
        self._looked = False
        self.products: dict[str, Held] = {}
        self.keyring = Keyring()
        self.learner_up = False
        self.unnoted = False  # is there a release that could not be noted, and is therefore not used?

    def refresh(self, store: QuoterStore) -> list[Seen]:
        """Look at the store. Returns releases seen for the first time."""
        self.keyring = Keyring(store.api_keys())
        self.learner_up = store.learner_alive(time.time())
        found = [(stored.name, self._held(store, stored)) for stored in store.products()]
        products = {name: held for name, held in found if held is not None}
        news: list[Seen] = []
        try:
            # On disk before a price is made of it, and before anybody is shown that it is there: see seen.py.
            news = self.note(store, products)
            self._say_noted()
        except OSError as problem:
            self._say_unnoted(problem)
            products = {name: self._without_news(held) for name, held in products.items()}
        self.products = products
        return news

    def note(self, store: QuoterStore, products: dict[str, Held]) -> list[Seen]:
        """Write down the highest releases in use, after telling the store of those it may not have."""
        if not self._looked or self._untold(products):
            self._seen.read_again()
            untold = self._untold(products) if self._looked else self._seen.all()
            if untold:  # before the note is replaced: afterwards nobody would know
                store.report_seen(untold)
            self._looked = True
        return self._seen.note(self._used(products))

    def certificate(self, store: QuoterStore, product: str) -> bytes | None:
        """The newest certificate. It may have come after a new release, so releases until then are noted first."""
        found = store.certificate(product)
        self.refresh(store)
        if self.unnoted:
            raise StoreUnavailable("a release could not be noted")
        return found

    def _without_news(self, held: Held) -> Held:
        """A product as it is now, by the last release that was noted: a freeze must not wait for a full disk."""
        if held.seen is None or not self._seen.is_new(held.seen):
            return held
        before = self.products.get(held.product.name)
        noted = None if before is None else before.release
        return Held(held.stored, noted, held.product, () if before is None else before.history, held.clips)

    def _say_unnoted(self, problem: OSError) -> None:
        said = f"new releases are not used, because they cannot be noted: {first_line(problem)}"
        if not self.products:  # at the start: prices would go back to the reference price
            raise StoreUnavailable(said) from None
        if not self.unnoted:
            log.error("%s", said)
        self.unnoted = True

    def _say_noted(self) -> None:
        if self.unnoted:
            log.warning("releases are noted and used again")
        self.unnoted = False

    def _used(self, products: dict[str, Held]) -> list[Seen]:
        return [held.seen for held in products.values() if held.seen is not None]

    def _untold(self, products: dict[str, Held]) -> list[Seen]:
        """What this machine has seen and the store may lack: it is behind, or has another release of that number."""
        replaced = {each.product for each in self._used(products) if self._seen.is_new(each)}
        return [each for each in self._seen.all() if each.product in replaced or _is_behind(products, each)]

    def _held(self, store: QuoterStore, stored: StoredProduct) -> Held | None:
        before = self.products.get(stored.name)
        try:
            return self._renewed(store, stored, before)
        except HushpriceError as problem:  # what one product lacks must not keep news from the others
            log.error("product %s stays as it was: %s", stored.name, type(problem).__name__)
            return before

    def _renewed(self, store: QuoterStore, stored: StoredProduct, before: Held | None) -> Held:
        release = store.latest_release(stored.name)
        if before is None:
            return Held(stored, release, None, _history(store, release, None))
        if before.same_but_slots(stored, release):
            before.slots = stored.slots
            return before
        product = before.product if before.stored.spec == stored.spec else None
        return Held(stored, release, product, _history(store, release, before), before.clips)

    def clipped(self) -> dict[str, int]:
        """Customers whose numbers were clipped here, by product: raw, for the operator alone."""
        return {name: held.clips.customers for name, held in self.products.items()}


def _is_behind(products: dict[str, Held], seen: Seen) -> bool:
    held = products.get(seen.product)
    return held is not None and seen.sequence > max(held.sequence, held.stored.skipped_releases)


def _history(store: QuoterStore, release: StoredRelease | None, before: Held | None) -> tuple[Made, ...]:
    """All releases up to this one; of those that are held already, only the last is read again."""
    if release is None:
        return ()
    if before is not None and before.release == release:
        return before.history
    if before is not None and before.release is not None and before.sequence < release.sequence:
        found = store.releases(release.product, before.sequence - 1)
        if found and found[0] == before.release:
            return (*before.history, *(made(each) for each in found[1:] if each.sequence <= release.sequence))
    listed = store.releases(release.product)
    return tuple(made(each) for each in listed if each.sequence <= release.sequence)
