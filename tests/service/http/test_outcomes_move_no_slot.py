"""Whether a purchase is told, or a device reports, decides nothing about later quotes, at the edge of every limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.service.http import limit_worlds
from tests.service.http.limit_worlds import LARGEST_BATCH, PREPAID, PURCHASES, REPORTS, Sold, World
from tests.service.http.running import Running, running

EDGES: dict[World, Any] = {  # that the edge was reached
    limit_worlds.rate_limit: [201] * 5 + [429],
    limit_worlds.batch_size: (200, [429]),
    limit_worlds.outcome_calls: ([200] * PREPAID, [201] * 2 + [429] * 2),
    limit_worlds.writer_queue: ([False] * 9 + [True], [1, 3, 3, 3, 1]),
    limit_worlds.idempotency_memory: [503, 200, 200, 503],
    limit_worlds.outage_buffer: [[200], [200], [404], [404]],
    limit_worlds.failing_outcomes: (201, True, False),
}


def test_every_limit_has_its_two_worlds() -> None:
    assert set(EDGES) == set(limit_worlds.WORLDS)


@pytest.mark.parametrize("sold", [PURCHASES, REPORTS], ids=["purchase", "report"])
@pytest.mark.parametrize("world", EDGES, ids=lambda world: world.__name__)
def test_what_is_told_of_a_quote_decides_nothing_about_later_quotes(world: World, sold: Sold, tmp_path: Path) -> None:
    for tells in (False, True):
        folder = tmp_path / str(tells)
        folder.mkdir()
        assert world(folder, sold, tells) == EDGES[world], tells


def test_calls_about_quotes_that_never_were_are_limited(tmp_path: Path) -> None:
    with running(str(tmp_path / "shop.db"), tmp_path, rate_per_second=limit_worlds.NO_REFILL) as server:
        server.create()
        quote = server.quote()
        strange = ["0" * 32, "f" * 32, quote["id"][:-1] + ("0" if quote["id"][-1] != "0" else "1"), "no-id"]
        told = [status for each in strange for status in PURCHASES.tell(server, {"id": each}, LARGEST_BATCH // 2)]
        assert told == [404] * LARGEST_BATCH + [429] * LARGEST_BATCH
        assert PURCHASES.tell(server, quote, key="other") == [404]  # a bucket of its own
        assert PURCHASES.tell(server, quote, PREPAID + 1) == [200] * PREPAID + [429]


def test_quotes_of_an_earlier_version_can_still_be_told_of(shared: Running) -> None:
    """Their ids have no mark: they are looked up, within the allowance for quotes that nobody knows."""
    from tests.service.http.running import KEYS
    from tests.service.store.samples import quote as new_quote

    from hushprice.service.shared.keys import digest
    from hushprice.service.store import open_store
    from hushprice.service.store.values import ApiKey

    key = ApiKey("shop", "shop", digest(KEYS["shop"])).identity
    old = new_quote(product="umbrella", key=key)
    store = open_store(shared.store, "learner")
    store.write([old], [])
    store.close()
    assert PURCHASES.tell(shared, {"id": old.id}) == [200]
