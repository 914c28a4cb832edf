"""Whatever happens to records, the public port says the same: figures of outcomes and clips are the operator's."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.http.running import CUSTOMER, KEYS, Running, ask, running

from hushprice.service.http.routes.table import READS
from hushprice.service.learning.operator_port import Clips, FitTimes, MeanRevenue
from hushprice.service.store import open_store
from hushprice.service.store.values import Figures

CANARY = "canary-73519"
RAW = {
    *Figures.__struct_fields__,
    *Clips.__struct_fields__,
    *FitTimes.__struct_fields__,
    *MeanRevenue.__struct_fields__,
    "clipped",
    "fit_seconds",
} - {"features", "attributes"}  # of a product as declared


def names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from names(each)
    elif isinstance(value, list):
        for each in value:
            yield from names(each)


def public(client: httpx.Client) -> dict[str, str]:
    """Every public answer."""
    found = {}
    for call in READS:
        answer = client.get(call.path.replace("{name}", "umbrella"))
        text = re.sub(r"hushprice_(quote|look_age)_seconds\S* \S+", "", answer.text)
        found[call.path] = f"{answer.status_code} {text}"
    return found


def serve(folder: Path, other: bool) -> tuple[dict[str, str], list[bytes]]:
    """The same quotes of customers who are like this or like that, and buy or do not; late, twice, and differently."""
    folder.mkdir()
    told = []
    with running(str(folder / "shop.db"), folder) as server:
        server.create(outcome_seconds=900.0, quote_seconds=900.0, holdout=0.5, records_per_customer=3)
        shop = server.client("shop")
        for n in range(12):
            attributes = {**CUSTOMER, "age": 500 if other else 41}
            quote = server.quote(attributes=attributes, customer=f"c{n}")
            if other and n % 3:
                for bought in (True, True, False):
                    told.append(shop.post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": bought}).content)
        if other:
            server.client("admin").post("/v1/customers/forget", json={"customer": "c0"})
        server.look()
        shown = public(server.client("auditor"))
        for call in READS:
            answer = server.client("admin").get(call.path.replace("{name}", "umbrella"))
            if answer.headers["content-type"] == "application/json":
                assert not RAW & set(names(answer.json())), call.path
    return shown, told


def test_public_answers_do_not_depend_on_attributes_outcomes_clips_or_deletions(tmp_path: Path) -> None:
    (one, _), (other, told) = serve(tmp_path / "one", False), serve(tmp_path / "other", True)
    created = re.compile(r'"created":[0-9.e+]+')
    assert told
    assert {path: created.sub("", text) for path, text in one.items()} == {
        path: created.sub("", text) for path, text in other.items()
    }
    assert "clip" not in "".join(one.values())


def test_unknown_foreign_and_forgotten_ids_get_the_same_bytes(either: Running) -> None:
    shop, other, admin = either.client("shop"), either.client("other"), either.client("admin")
    mine, foreign, forgotten = (either.quote(customer=customer)["id"] for customer in ("a", "b", "gone"))
    shop.post(f"/v1/quotes/{foreign}/outcome", json={"purchased": True})
    shop.post(f"/v1/quotes/{forgotten}/outcome", json={"purchased": True})
    admin.post("/v1/customers/forget", json={"customer": "gone"})

    def told(client: httpx.Client, quote: str, bought: bool = True) -> tuple[Any, ...]:
        answer = client.post(f"/v1/quotes/{quote}/outcome", json={"purchased": bought})
        kept = {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}
        return answer.status_code, answer.content, tuple(sorted(kept.items()))

    unknown = told(shop, "0" * 32)
    assert unknown[0] == 404
    for client in (other, admin):
        for quote in (mine, foreign):
            assert told(client, quote) == told(client, quote, False) == unknown
    for quote in (forgotten, "x" * 32, "0" * 31, "é" * 32, "%00" * 4):
        assert told(shop, quote) == told(shop, quote, False) == unknown
    assert told(shop, mine)[0] == 200


def test_rate_limits_read_no_content(tmp_path: Path) -> None:
    """A repeat, a wrong body and a good one use up the same; and nobody's answer says what was in another's."""
    bodies: list[dict[str, Any]] = [ask(), ask(customer="c"), {"product": "umbrella"}, ask(attributes={"age": CANARY})]
    answers = []
    for n, body in enumerate(bodies):
        (tmp_path / str(n)).mkdir()
        with running(str(tmp_path / str(n) / "shop.db"), tmp_path / str(n), rate_per_second=1e-4) as server:
            server.create()
            shop = server.client("shop")
            got = [shop.post("/v1/quotes", json=body) for _ in range(102)]
            answers.append([each.status_code == 429 for each in got])
            assert {each.content for each in got if each.status_code == 429} == {got[-1].content}
    assert answers == [answers[0]] * len(bodies)
    assert sum(answers[0]) == 2


def test_a_repeated_quote_is_the_same_before_and_after_its_outcome(either: Running) -> None:
    shop = either.client("shop")
    ids = {}
    for bought in (True, False):
        headers = {"idempotency-key": f"cart-{bought}"}
        first = shop.post("/v1/quotes", json=ask(), headers=headers)
        shop.post(f"/v1/quotes/{first.json()['id']}/outcome", json={"purchased": bought})
        again = shop.post("/v1/quotes", json=ask(), headers=headers)
        assert (again.status_code, again.content) == (200, first.content)
        other = shop.post("/v1/quotes", json=ask(customer="other"), headers=headers)
        ids[bought] = (other.status_code, other.content)
    assert ids[True] == ids[False]
    assert ids[True][0] == 409


def test_what_identifies_a_request_is_stored_under_the_secret(fresh: Running) -> None:
    """Digests without a key could be tried out: a shop may well put a customer's name into an Idempotency-Key."""
    import hashlib
    import sqlite3

    key, customer = "cart-of-alice", "alice"
    fresh.client("shop").post("/v1/quotes", json=ask(customer=customer), headers={"idempotency-key": key})
    connection = sqlite3.connect(fresh.store)
    row = connection.execute("SELECT customer, idempotency, fingerprint FROM quote").fetchone()
    keys = [digest for (digest,) in connection.execute("SELECT digest FROM api_key")]
    connection.close()
    assert all(len(each) == 32 for each in row)
    plain = {hashlib.sha256(text.encode()).digest() for text in (key, customer, json.dumps(ask(customer=customer)))}
    assert not plain & set(row)
    assert hashlib.sha256(KEYS["shop"].encode()).digest() in keys


ODD: list[Any] = [
    {"product": CANARY},
    {**ask(), CANARY: 1},
    ask(attributes={**CUSTOMER, "age": CANARY}),
    ask(attributes={**CUSTOMER, CANARY: CANARY}),
    ask(attributes={**CUSTOMER, "region": f"{CANARY}\u2028\x00"}),
    ask(attributes={**CUSTOMER, "age": 1e308}),
    ask(attributes={**CUSTOMER, "age": -735190000}),
    ask(attributes={CANARY: {CANARY: [CANARY]}}),
    ask(context=[CANARY]),
    ask(customer=CANARY * 40),
    ask(customer=[CANARY]),
    [CANARY],
    CANARY,
]


def test_odd_requests_leave_no_value_in_errors_logs_or_metrics(
    fresh: Running, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, admin = fresh.client("shop"), fresh.client("admin")
    errors = []
    with caplog.at_level(logging.DEBUG):
        for body in ODD:
            errors.append(shop.post("/v1/quotes", json=body))
            errors.append(shop.post("/v1/quotes/batch", json={"quotes": [body]}))
            errors.append(shop.post(f"/v1/quotes/{'0' * 32}/outcome", json=body))
            errors.append(admin.post("/v1/customers/forget", json=body))
        errors.append(shop.post(f"/v1/quotes/{CANARY}/outcome", json={"purchased": True}))
        errors.append(shop.post("/v1/quotes", json=ask(), headers={"idempotency-key": CANARY * 30}))
        errors.append(shop.get(f"/v1/products/{CANARY}/report"))
        errors.append(shop.get("/v1/products/umbrella/demand", params={"age": CANARY}))
        errors.append(shop.get("/v1/products/umbrella/demand", params={CANARY: "1"}))
        errors.append(shop.get("/v1/products/umbrella/prices", params={"x": CANARY}))

        def fails(*_: Any) -> None:
            raise ZeroDivisionError(CANARY)

        monkeypatch.setattr("hushprice.service.quoting.priced_product.PricedProduct.price", fails)
        errors.append(shop.post("/v1/quotes", json=ask()))
        assert errors[-1].status_code == 500
    told = [each.text for each in errors if CANARY in each.text]
    assert len(told) == 2  # the name of a field that is not there is said, to who sent it
    assert all('"message":"there is no such field"' in text and text.count(CANARY) == 1 for text in told)
    ours = [each for each in caplog.records if not each.name.startswith("http")]  # httpx, httpcore: of the test itself
    logged = "\n".join(f"{each.name} {each.getMessage()} {each.exc_text or ''}" for each in ours)
    assert CANARY not in logged
    assert "735190000" not in logged
    metrics = fresh.client("admin").get("/metrics")
    assert metrics.status_code == 200
    assert CANARY not in metrics.text


def test_nothing_that_was_promised_to_be_forgotten_is_left_in_the_store(fresh: Running) -> None:
    import sqlite3

    fresh.create(name="capped", records_per_customer=2)
    shop = fresh.client("shop")
    for product in ("umbrella", "capped"):
        headers = {"idempotency-key": f"of alice {product}"}
        quote = shop.post("/v1/quotes", json=ask(customer="alice", product=product), headers=headers).json()
        shop.post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": True})
    answer = fresh.client("admin").post("/v1/customers/forget", json={"customer": "alice"}).json()
    connection = sqlite3.connect(fresh.store)
    (contexts,) = connection.execute("SELECT count(*) FROM record").fetchone()
    rows = connection.execute(
        "SELECT status, price, demand, customer, idempotency, fingerprint, charged, expires, version, counts FROM quote"
    ).fetchall()
    connection.close()
    assert contexts == 0
    assert set(rows) == {(3, 0.0, None, None, None, None, None, None, None, 0)}
    said = " ".join(answer["remains"])
    for what in ("slots", "its id", "digest", "Releases", "next releases", "backups", "log", "without this customer"):
        assert what in said


def test_quotes_kept_while_the_store_was_away_are_forgotten_too(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are stored before the deletion, not after it."""
    from hushprice.service.store.protocol import StoreUnavailable
    from hushprice.service.store.sqlite import SqliteStore

    real, away = SqliteStore.write, [True]

    def write(self: Any, quotes: Any, outcomes: Any) -> Any:
        if away and quotes:
            raise StoreUnavailable("away")
        return real(self, quotes, outcomes)

    monkeypatch.setattr(SqliteStore, "write", write)
    assert fresh.quote(customer="alice")["recorded"] is False
    away.clear()
    answer = fresh.client("admin").post("/v1/customers/forget", json={"customer": "alice"})
    assert answer.status_code == 200
    store = open_store(fresh.store, "learner")
    assert store.figures("umbrella").forgotten == 1
    store.close()
