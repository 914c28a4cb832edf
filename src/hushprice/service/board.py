"""What this process prices by: the last release of every product, and who may ask.

Refreshed twice a second from the store. Quotes read it without asking anybody, so they go on while the store is away.
"""

from __future__ import annotations

import logging
import time

from hushprice.errors import HushpriceError
from hushprice.service.held import Held
from hushprice.service.keys import Keyring
from hushprice.service.seen import SeenFile
from hushprice.service.store.protocol import QuoterStore, Seen, StoredProduct

log = logging.getLogger("hushprice.service")
POLL = 0.5  # seconds between two looks at the store; new releases must reach quotes within a second


class Board:
    """Read by the event loop, replaced part by part by the thread that refreshes it."""

    def __init__(self, seen: SeenFile | None) -> None:
        self._seen = seen
        self.products: dict[str, Held] = {}
        self.keyring = Keyring()
        self.learner_up = False

    def refresh(self, store: QuoterStore) -> list[Seen]:
        """Look at the store. Returns releases seen for the first time, to be reported."""
        self.keyring = Keyring(store.api_keys())
        self.learner_up = store.learner_alive(time.time())
        found = [(stored.name, self._held(store, stored)) for stored in store.products()]
        products = {name: held for name, held in found if held is not None}
        # On disk before a price can be made of it: see seen.py.
        news = self.note(products)
        self.products = products
        return news

    def note(self, products: dict[str, Held]) -> list[Seen]:
        """Write down the highest releases in use."""
        if self._seen is None:  # the operator's side makes no price for a customer
            return []
        used = [Seen(name, held.sequence, held.learned) for name, held in products.items() if held.release is not None]
        return self._seen.note(used)

    def all_seen(self) -> list[Seen]:
        """Everything this machine has ever priced by."""
        return [] if self._seen is None else self._seen.all()

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
            return Held(stored, release)
        if before.same_but_slots(stored, 0 if release is None else release.sequence):
            before.slots = stored.slots
            return before
        held = Held(stored, release, before.product if before.stored.spec == stored.spec else None)
        held.clipped = before.clipped
        return held

    def clipped(self) -> dict[str, int]:
        """Customers whose numbers were clipped here, by product: raw, for the operator alone."""
        return {name: held.clipped for name, held in self.products.items()}
