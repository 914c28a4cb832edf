"""What a start, a look and an idle learner ask of the store does not grow with the number of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.http.running import running
from tests.service.learning_runs import WINDOW, Shop, spec

from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared import product
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import open_store
from hushprice.service.store.sqlite import SqliteStore


@contextmanager
def shop_with(folder: Path, count: int) -> Iterator[Shop]:
    """A shop whose products each have a slot that was learned, and a certificate."""
    folder.mkdir()
    shop = Shop(folder, *(spec(name=f"p{n}") for n in range(count)))
    try:
        for n in range(count):
            shop.quote(0, product=f"p{n}")
        shop.wait(WINDOW + 1.0)
        yield shop
    finally:
        shop.close()


def statements(shop: Shop, act: Callable[[], object]) -> int:
    """How many statements a thing takes."""
    assert isinstance(shop.store, SqliteStore)
    seen: list[str] = []
    shop.store._connection.set_trace_callback(seen.append)
    act()
    shop.store._connection.set_trace_callback(None)
    return len(seen)


def test_a_first_look_and_later_ones_take_as_many_statements_for_forty_products_as_for_two(tmp_path: Path) -> None:
    taken = []
    for count in (2, 40):
        with shop_with(tmp_path / str(count), count) as shop:
            table = ProductTable(SeenReleasesFile(tmp_path / f"seen-{count}.json"))
            first = statements(shop, lambda table=table, shop=shop: table.refresh(shop.store))
            shop.quote(1, product="p1")
            later = statements(shop, lambda table=table, shop=shop: table.refresh(shop.store))
            assert (len(table.products), table.products["p1"].slots) == (count, 2)
            taken.append((first, later))
    assert taken[0] == taken[1]


def test_an_idle_learner_takes_as_many_statements_for_forty_products_as_for_two(tmp_path: Path) -> None:
    taken = []
    for count in (2, 40):
        with shop_with(tmp_path / str(count), count) as shop:
            learning = shop.learning(signing_key=Ed25519PrivateKey.generate())
            for _ in range(6):
                learning.turn()
            assert shop.learned("p1") == 1
            assert all(shop.store.certificate(f"p{n}") for n in range(count))
            taken.append(statements(shop, learning.turn))
            again = shop.learning()  # of a process that starts anew
            again.holder = learning.holder
            again.turn()
            assert again._learners == {}  # nothing is opened that there is no work with
    assert taken[0] == taken[1]


def test_certificates_of_yesterday_are_issued_a_few_at_a_time_and_none_anew_after_a_restart(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    with shop_with(tmp_path / "shop", 25) as shop:

        def issued() -> int:
            return sum(shop.store.certificate(f"p{n}") is not None for n in range(25))

        learning, counts = shop.learning(signing_key=key), []
        for _ in range(4):
            learning.turn()
            counts.append(issued())
        assert counts == [10, 20, 25, 25]
        bodies = [shop.store.certificate(f"p{n}") for n in range(25)]
        shop.wait(6.0)
        again = shop.learning(signing_key=key)
        again.turn()
        assert [shop.store.certificate(f"p{n}") for n in range(25)] == bodies
        tomorrow = shop.time + 86400.0
        shop.learning(signing_key=key, now=lambda: tomorrow).turn()
        assert sum(shop.store.certificate(f"p{n}") != bodies[n] for n in range(25)) == 10


def test_a_start_opens_no_product_and_a_quote_opens_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = product.quoter_of
    monkeypatch.setattr(
        "hushprice.service.quoting.priced_product.quoter_of",
        lambda declared, *given: opened.append(declared.name) or real(declared, *given),  # type: ignore[func-returns-value]
    )
    with shop_with(tmp_path / "shop", 5) as shop:
        table = ProductTable(SeenReleasesFile(tmp_path / "seen.json"))
        table.refresh(shop.store)
        assert (opened, len(table.products)) == ([], 5)
        table.products["p3"].price(table.products["p3"].context(None, [0.5, 0.5]), 0.5)
        assert opened == ["p3"]
        while table.open_some(2):
            pass
        assert opened == ["p3", "p0", "p1", "p2", "p4"]


def test_a_product_that_cannot_be_opened_is_left_out_and_the_others_are_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(tmp_path, spec(name="tea"), spec(name="coffee"))
    shop.add(spec(name="broken").replace(b'"contexts":2', b'"contexts":-2'))
    shop.add(spec(name="newer").replace(b'"contexts":2', b'"contexts":2,"later":1'))  # and then an older program again
    shop.close()
    with running(str(tmp_path / "shop.db"), tmp_path) as server:
        listed = server.client().get("/v1/products").json()["products"]
        assert [each["name"] for each in listed] == ["tea", "coffee"]
        assert "product broken is left out: InvalidInput" in caplog.text
        assert "product newer stays as it was: InvalidInput" in caplog.text
        answer = server.client("shop").post("/v1/quotes", json={"product": "broken", "context": [0.0, 0.0]})
        assert answer.status_code == 404
        store = open_store(server.store, "learner")
        store.set_status("broken", "frozen", 1.0)
        store.close()
        server.look()
        assert "product broken stays as it was: InvalidInput" in caplog.text
