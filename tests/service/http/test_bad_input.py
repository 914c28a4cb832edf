"""Whatever is sent, the answer is {error: {code, message, field}}: no 500, no stack trace, no value of a customer."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.service.http.hostile import answer, connect
from tests.service.http.running import CUSTOMER, KEYS, PRODUCT, Running, ask
from tests.service.shared.test_one_product import BAD, SHOP

from hushprice import Product
from hushprice.errors import InvalidInput

CANARY = "canary-73519"


def send(server: Running, body: bytes, path: str = "/v1/quotes", key: str = "shop") -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
    try:
        connection.request("POST", path, body=body, headers={"authorization": f"Bearer {KEYS[key]}"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def check_shape(body: Any) -> None:
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "field"}
    assert "Traceback" not in body["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not json",
        b'{"product": "umbrella"} trailing',
        b'{"product": "\xff\xfe"}',
        b'{"product": "\\ud800"}',
        b"\xef\xbb\xbf{}",
        b'{"product": "umbrella", "context": [NaN]}',
    ],
)
def test_a_body_that_is_no_json_in_utf8_is_a_400(shared: Running, body: bytes) -> None:
    status, answer = send(shared, body)
    assert (status, answer["error"]["code"]) == (400, "invalid_json")
    check_shape(answer)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], None),
        (None, None),
        ({}, "product"),
        ({"product": 3}, "product"),
        (ask(price=3), "price"),
        (ask(attributes=[1]), "attributes"),
        (ask(attributes={**CUSTOMER, "age": CANARY}), "attributes.age"),
        (ask(attributes={**CUSTOMER, "age": [CANARY]}), "attributes"),
        (ask(attributes={**CUSTOMER, "age": True}), "attributes.age"),
        (ask(attributes={**CUSTOMER, "member": CANARY}), "attributes.member"),
        (ask(attributes={**CUSTOMER, "member": 1}), "attributes.member"),
        (ask(attributes={**CUSTOMER, "region": CANARY}), "attributes.region"),
        (ask(attributes={**CUSTOMER, CANARY: 1}), "attributes"),
        (ask(attributes={"age": 41}), "attributes"),
        (ask(context=[0.5]), "attributes"),
        ({"product": "umbrella"}, "attributes"),
        (ask(customer=""), "customer"),
        (ask(customer="c" * 201), "customer"),
        (ask(customer={"name": CANARY}), "customer"),
        (ask(attributes={**CUSTOMER, "age": 10**400}), "attributes"),
    ],
)
def test_a_wrong_field_is_named_and_its_value_is_not(shared: Running, body: Any, field: str | None) -> None:
    status, answer = send(shared, json.dumps(body).encode())
    check_shape(answer)
    assert (status, answer["error"]["code"], answer["error"]["field"]) == (422, "invalid", field)
    assert CANARY not in json.dumps(answer)


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_product_is_refused_as_the_library_refuses_it(shared: Running, bad: dict[str, Any]) -> None:
    with pytest.raises((InvalidInput, TypeError)) as refused:
        Product(**SHOP | bad)
    status, answer = send(
        shared, json.dumps({"name": "bad", "currency": "EUR", **SHOP, **bad}).encode(), "/v1/products", "admin"
    )
    check_shape(answer)
    assert (status, answer["error"]["message"]) == (422, str(refused.value))
    assert str(refused.value).startswith(answer["error"]["field"])
    assert shared.client().get("/v1/products/bad").status_code == 404


def test_a_deeply_nested_body_is_refused(shared: Running) -> None:
    status, answer = send(shared, b'{"attributes": ' + b"[" * 100_000)
    assert status in (400, 422)
    check_shape(answer)
    status, answer = send(shared, b'{"schema": ' + b'{"a":' * 40_000, "/v1/products", "admin")
    assert status in (400, 422)


@pytest.mark.parametrize("chunked", [False, True])
def test_ten_megabytes_are_refused_without_being_kept(shared: Running, chunked: bool) -> None:
    connection = http.client.HTTPConnection(urlsplit(shared.url).netloc, timeout=20)
    body = b'{"product": "' + b"x" * 10_000_000 + b'"}'
    pieces = (body[start : start + 65536] for start in range(0, len(body), 65536)) if chunked else body
    try:
        headers = {"authorization": f"Bearer {KEYS['shop']}"}
        connection.request("POST", "/v1/quotes", body=pieces, headers=headers, encode_chunked=chunked)
        answer = connection.getresponse()
        assert answer.status == 413
        check_shape(json.loads(answer.read()))
    finally:
        connection.close()
    assert shared.client().get("/healthz").status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        CANARY.encode() + b"\r\n\r\n",
        b"GET /v1/products/\xc3\xa9" + CANARY.encode() + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"POST /v1/quotes HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_the_same_shape(
    shared: Running, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    address = urlsplit(shared.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as connection:
        connection.sendall(sent)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        check_shape(json.loads(answer.read()))
    assert (answer.status, answer.getheader("content-type")) == (400, "application/json")
    assert CANARY not in caplog.text
    assert caplog.text.count("\n") <= 1  # once a minute, or anybody could fill the log


def test_a_host_may_be_empty_and_is_not_asked_of_the_older_protocol(shared: Running) -> None:
    for sent in (b"GET /healthz HTTP/1.1\r\nhost:\r\n\r\n", b"GET /healthz HTTP/1.0\r\n\r\n"):
        with connect(shared.url) as connection:
            connection.sendall(sent)
            assert answer(connection)[0] == 200


def test_what_came_before_a_request_without_a_host_is_answered_first(shared: Running) -> None:
    with connect(shared.url) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" + b"GET /healthz HTTP/1.1\r\n\r\n")
        assert answer(connection)[0] == 200
        status, body = answer(connection)
        assert (status, body["error"]["code"]) == (400, "invalid_http")
        assert "host" in body["error"]["message"]


def test_an_upgrade_that_is_not_offered_is_answered_without_a_word_in_the_log(
    shared: Running, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-version": "13", "sec-websocket-key": "x"}
    assert shared.client().get("/v1/products", headers=headers).status_code == 200
    assert "uvicorn" not in caplog.text


def test_the_largest_body_that_may_be_sent_is_read(shared: Running) -> None:
    body = json.dumps(ask()).encode()
    status, _ = send(shared, body + b" " * (256 * 1024 - len(body)))
    assert status == 201
    status, _ = send(shared, body + b" " * (256 * 1024 - len(body) + 1))
    assert status == 413


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": "Umbrella"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"currency": "euro"}, "currency"),
        ({"ceiling": 0}, "ceiling"),
        ({"ceiling": "40"}, "ceiling"),
        ({"ceiling": 1e300}, "ceiling"),
        ({"epsilon": -1}, "epsilon"),
        ({"delta": "3/T^9999999"}, "delta"),
        ({"horizon": 0}, "horizon"),
        ({"policy": "magic"}, "policy"),
        ({"holdout": 0.9}, "holdout"),
        ({"schema": {"attributes": []}}, None),
        ({"schema": None}, "schema"),
        ({"contexts": 2}, "schema"),
        ({"outcome_seconds": 1}, "outcome_seconds"),
        ({"rules": {"flor": 1}}, "rules.flor"),
        ({"rules": {"floor": 99}}, "rules.floor"),
        ({"records_per_customer": 0}, "records_per_customer"),
        ({"unit_cost": 40}, "unit_cost"),
        ({"family": "poisson", "slope": 1, "bound": 1e100}, "bound"),
        ({"schema": {"attributes": [{"kind": "boolean", "name": "m" * 100_000}]}}, "schema"),
        ({"schema": {"attributes": [{"kind": "category", "name": "m", "levels": ["a", "b" * 101]}]}}, "schema"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_product_that_cannot_be_kept_is_refused_by_field(shared: Running, change: Any, field: str | None) -> None:
    answer = shared.client("admin").post("/v1/products", json={**PRODUCT, "name": "other", **change})
    assert answer.status_code == 422, answer.text
    check_shape(answer.json())
    if field is not None:
        assert answer.json()["error"]["field"] == field


def test_a_product_name_is_given_once(shared: Running) -> None:
    answer = shared.client("admin").post("/v1/products", json=PRODUCT)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "duplicate")


@pytest.mark.parametrize("body", [{}, {"purchased": None}, {"purchased": True, "quantity": 1}])
def test_an_outcome_says_one_thing(shared: Running, body: Any) -> None:
    quote = shared.quote()
    answer = shared.client("shop").post(f"/v1/quotes/{quote['id']}/outcome", json=body)
    assert answer.status_code == 422


def test_more_than_a_product_sells_to_one_customer_is_refused_by_its_bound(either: Running) -> None:
    either.create(name="seeds", family="poisson", bound=5, slope=1)
    shop = either.client("shop")
    for product, largest in (("umbrella", 1), ("seeds", 5)):
        path = f"/v1/quotes/{either.quote(product=product)['id']}/outcome"
        for quantity in (1e6, largest + 0.5):
            answer = shop.post(path, json={"quantity": quantity})
            assert (answer.status_code, answer.json()["error"]["field"]) == (422, "quantity")
            assert answer.json()["error"]["message"] == f"must be at most {largest}, the product's bound"
        assert shop.post(path, json={"quantity": largest}).json()["repeat"] is False


@pytest.mark.parametrize("end", ["%0b%0c", "%20%20", "%0A%0A", "%00%00", "zz"])
def test_an_id_that_is_none_is_unknown_and_the_store_stays(either: Running, end: str) -> None:
    for begin in ("0" * 30, "A" * 30):
        answer = either.client("shop").post(f"/v1/quotes/{begin}{end}/outcome", json={"purchased": True})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_quote")
    assert either.quote()["recorded"] is True
    assert either.client().get("/readyz").json()["store"] == "up"


@pytest.mark.parametrize("quantity", [-1, 1e9, "two", True])
def test_a_quantity_is_a_number_at_or_above_zero(shared: Running, quantity: Any) -> None:
    quote = shared.quote()
    answer = shared.client("shop").post(f"/v1/quotes/{quote['id']}/outcome", json={"quantity": quantity})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "quantity")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/quotes", 405),
        ("DELETE", "/v1/products", 405),
        ("POST", "/v1/quotes/", 404),
        ("GET", "/v1/products/nothing", 404),
        ("GET", "/v1/products/nothing/report", 404),
        ("GET", "/v1/products/%F0%9F%92%B6", 404),
        ("GET", "/page/../config.py", 404),
        ("GET", "/page/%2e%2e/config.py", 404),
    ],
)
def test_what_is_not_there_is_said_in_the_same_shape(shared: Running, method: str, path: str, status: int) -> None:
    answer = shared.client("admin").request(method, path)
    assert answer.status_code == status
    check_shape(answer.json())


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/products", "GET, HEAD, POST"),
        ("GET", "/v1/quotes", "POST"),
        ("PUT", f"/v1/quotes/{'0' * 32}/outcome", "POST"),
        ("POST", "/v1/products/umbrella/rules", "PUT"),
        ("POST", "/", "GET, HEAD"),
    ],
)
def test_allow_lists_all_that_a_path_takes(shared: Running, method: str, path: str, allowed: str) -> None:
    answer = shared.client("admin").request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


def test_a_fault_of_ours_is_said_without_detail(fresh: Running, monkeypatch, caplog) -> None:
    def broken(*_: object) -> None:
        raise ValueError(f"the value was {CANARY}")

    monkeypatch.setattr(fresh.service.product_table.products["umbrella"]._parts.quick, "read", broken)
    answer = fresh.client("shop").post("/v1/quotes", json=ask())
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    check_shape(answer.json())
    assert "quote failed: ValueError" in caplog.text
    assert CANARY not in answer.text + caplog.text


@pytest.mark.parametrize(
    "query",
    ["x=nothing", "x=age&y=age", "steps=1", "steps=99", "steps=abc", "z=1", "x=%FF", "steps=%E0%A5%A7%E0%A5%A8"],
)
def test_a_price_map_refuses_what_it_cannot_draw(shared: Running, query: str) -> None:
    answer = shared.client().get(f"/v1/products/umbrella/prices?{query}")
    assert answer.status_code == 422
    check_shape(answer.json())


@pytest.mark.parametrize("query", [f"age={CANARY}", f"region={CANARY}", f"member={CANARY}", f"{CANARY}=1", "age=nan"])
def test_a_demand_curve_refuses_by_name_and_not_by_value(shared: Running, query: str) -> None:
    answer = shared.client().get(f"/v1/products/umbrella/demand?{query}")
    assert answer.status_code == 422
    assert CANARY not in answer.text
