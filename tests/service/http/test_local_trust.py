"""Trust local over real connections: a device prices and reports, and the shop gets nothing else of a customer."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from scipy.stats import binomtest
from tests.service.http.running import KEYS, Running, running
from tests.service.http.test_cautious import SCARF, learn

from hushprice.client import Belief, Client, Conflict, Device, DeviceReport, Outcome, Quote, Refused, UnknownQuote
from hushprice.errors import InvalidInput
from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.http.routes import quotes
from hushprice.service.quoting.randomness import SIZE
from hushprice.service.shared import quote_ids
from hushprice.trust import bits
from hushprice.trust.question import Record, held, residual

TEA: dict[str, Any] = {**SCARF, "name": "tea", "most": 1.0, "epsilon": 4.0, "trust": "local"}
FALSE_ALARM = 1e-6  # of each check of a law below


@pytest.fixture
def shop(either: Running) -> Iterator[Client]:
    made = either.client("admin").post("/v1/products", json=TEA)
    assert made.status_code == 201, made.text
    assert made.json()["trust"] == "local"
    assert [each.split(" ")[0] for each in made.json()["warnings"]] == ["risk"]
    with Client(either.url, KEYS["shop"], timeout=60.0) as client:
        yield client


def test_a_device_prices_and_reports_and_its_reports_are_learned(either: Running, shop: Client) -> None:
    belief = shop.belief("tea")
    assert belief.keep <= bits.keep_of(4.0)
    count = either.client().get("/v1/products/tea/privacy").json()["next_release_after_slot"]
    shown = set()
    for n in range(count):
        quote = shop.quote_for_device("tea", customer=f"customer {n}")
        assert (quote.price, quote.propensity, quote.belief) == (25.0, None, belief.mark)
        device = Device([0.3, -0.4], epsilon=4.0)
        shown.add(device.price(belief, quote))
        report = device.report(belief, quote, purchased=True)
        assert shop.send_report(quote, report) == Outcome("recorded")
    assert len(shown) == 2  # the coin's two
    assert 20.0 <= min(shown) < 25.0 < max(shown) <= 30.0
    learn(either)
    after, privacy = shop.belief("tea"), either.client().get("/v1/products/tea/privacy").json()
    assert (after.version, after.mark == belief.mark) == (1, False)
    assert (privacy["trust"], privacy["learned"], privacy["releases"]) == ("local", count, 1)
    assert "each report by itself" in privacy["note"]
    assert device.price(after, quote) == quote.price  # a quote that another belief asked
    assert verify(Certificate.parse(either.client().get("/v1/products/tea/certificate").content)).proven.epsilon <= 4.0


def test_a_report_is_taken_once_and_for_its_key_alone(either: Running, shop: Client) -> None:
    quote = shop.quote_for_device("tea")
    with Client(either.url, KEYS["other"], timeout=60.0) as other, pytest.raises(UnknownQuote):
        other.send_report(quote, DeviceReport(0, up=True))
    assert shop.send_report(quote, DeviceReport(0, up=True)) == Outcome("recorded")
    assert shop.send_report(quote, DeviceReport(0, up=True)) == Outcome("recorded", repeat=True)
    with pytest.raises(Conflict):
        shop.send_report(quote, DeviceReport(0, up=False))
    assert shop.send_report(quote, None) == Outcome("not told")
    with pytest.raises(UnknownQuote):
        shop.send_report(Quote(product="tea", price=1.0, id="x" * 32), DeviceReport(0, up=True))


def test_what_tells_of_a_customer_is_refused_by_the_field(either: Running, shop: Client) -> None:
    either.client("admin").post("/v1/products", json=SCARF)
    for given in ({"context": [0.1, 0.2]}, {"attributes": {"age": 7}}):
        with pytest.raises(Refused) as refused:
            shop.quote("tea", **given)  # type: ignore[arg-type]
        assert (refused.value.status, refused.value.field) == (422, *given)
    quote = shop.quote_for_device("tea")
    for told in ({"purchased": True}, {"quantity": 1.0}):
        with pytest.raises(Refused, match="devices send reports") as refused:
            shop.outcome(quote, **told)  # type: ignore[arg-type]
        assert (refused.value.status, refused.value.field) == (422, *told)
    raw = either.client("shop").post("/v1/quotes", json={"product": "tea", "price": 21.5})
    assert raw.status_code == 422
    central = shop.quote("scarf", context=[0.1, 0.2])
    with pytest.raises(Refused, match="tells outcomes"):
        shop.send_report(central, DeviceReport(0, up=True))
    with pytest.raises(Refused, match="made here"):
        shop.belief("scarf")
    assert "coin" not in either.client("shop").post("/v1/quotes", json={"product": "scarf", "context": [0, 0]}).json()


MEMBERS = {
    "attributes": [{"kind": "boolean", "name": "member"}, {"kind": "number", "name": "age", "low": 0, "high": 9}]
}


def test_a_device_knows_its_attributes_by_name(either: Running, shop: Client) -> None:
    """Those that it cannot read count as missing: a price and a report come all the same."""
    made = either.client("admin").post("/v1/products", json=TEA | {"name": "hat", "contexts": None, "schema": MEMBERS})
    assert made.status_code == 201, made.text
    belief, quote = shop.belief("hat"), shop.quote_for_device("hat")
    moved = replace(belief.question, move=1.0, spread=0.0, theta=(0.0, 0.3, -0.4, 0.0, 0.0, 0.0))
    belief = msgspec.structs.replace(belief, question=moved)
    named = Device(attributes={"member": True, "age": 4.5}, epsilon=4.0)
    asked = belief.till.amount(belief.till.charged(belief.question.price([1.0, 0.0], float(quote.coin or 0))))
    other = belief.till.amount(belief.till.charged(belief.question.price([0.0, 0.0], float(quote.coin or 0))))
    assert named.price(belief, quote) == asked != other
    assert Device(attributes={"member": "yes"}, epsilon=4.0).price(belief, quote) == other
    assert Device(epsilon=4.0).price(belief, quote) == other
    assert shop.send_report(quote, named.report(belief, quote, purchased=True)) == Outcome("recorded")
    with pytest.raises(InvalidInput, match="a schema of 2 entries"):
        msgspec.structs.replace(belief, schema={"attributes": MEMBERS["attributes"][:1]})
    with pytest.raises(Refused, match="devices keep it"):
        shop.quote("hat", {"member": True, "age": 1.0})


def test_a_batch_and_a_repeated_quote_have_coins(either: Running, shop: Client) -> None:
    asked = either.client("shop").post("/v1/quotes/batch", json={"quotes": [{"product": "tea"}] * 20}).json()["quotes"]
    assert {each["coin"] for each in asked} == {-1, 1}
    first, again = (shop.quote_for_device("tea", idempotency_key="basket") for _ in range(2))
    assert first == again


def test_a_frozen_product_has_one_price_and_asks_nobody(either: Running, shop: Client) -> None:
    belief = shop.belief("tea")
    either.client("admin").post("/v1/products/tea/freeze")
    quote, device = shop.quote_for_device("tea"), Device([0.3, -0.4], epsilon=4.0)
    assert (quote.coin, quote.belief) == (None, None)
    assert device.price(belief, quote) == 25.0
    assert device.report(belief, quote, purchased=True) is None


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"trust": "aggregated"}, "aggregators"),
    ({"trust": "shuffle"}, "no shuffler"),
    ({"trust": "nobody"}, "trust"),
    ({"holdout": 0.1}, "holdout"),
    ({"policy": "fixed", "conversion": None, "floor": None}, "trust is for policy"),
]


@pytest.mark.parametrize(("changes", "says"), WRONG)
def test_what_no_device_can_keep_is_refused(fresh: Running, changes: dict[str, Any], says: str) -> None:
    answer = fresh.client("admin").post("/v1/products", json={**TEA, **changes})
    assert answer.status_code == 422
    assert says in answer.text


# Two worlds: the same slots, and another customer on the device.
ONE, OTHER = ((0.9, -0.8), 1.0), ((-0.7, 0.6), 0.0)
REPORTS = 500  # of these, one in a million does not tell the two apart
CustomerRecord = tuple[Sequence[float], float]


class Played(NamedTuple):
    """What the shop has stored: codes of reports, and all else; and what had been asked of the devices."""

    codes: list[int]
    rest: str
    belief: Belief
    coins: list[int]
    shown: list[float]  # by the devices, to nobody


def play(folder: Path, record: CustomerRecord, reports: int = REPORTS) -> Played:
    """So many slots, each with this customer's own device."""
    folder.mkdir()
    random, (context, demand) = np.random.default_rng(5), record
    with pytest.MonkeyPatch.context() as patch, running(str(folder / "shop.db"), folder) as server:
        patch.setattr(quotes, "random_bytes", lambda: random.bytes(SIZE))
        patch.setattr(quote_ids, "clock_bytes", lambda now: bytes(2))
        assert server.client("admin").post("/v1/products", json={**TEA, "epsilon": 1.0}).status_code == 201
        asked = {"quotes": [{"product": "tea"}] * 100}
        client, given = server.client("shop"), list[Quote]()
        for _ in range(reports // 100):
            answered = client.post("/v1/quotes/batch", json=asked).json()["quotes"]
            given += [msgspec.convert(each, Quote) for each in answered]
        with Client(server.url, KEYS["shop"], timeout=60.0) as shop, ThreadPoolExecutor(32) as threads:
            belief = shop.belief("tea")
            devices = [Device(context, epsilon=1.0) for _ in given]
            shown = [device.price(belief, quote) for device, quote in zip(devices, given, strict=True)]
            told = [device.report(belief, quote, quantity=demand) for device, quote in zip(devices, given, strict=True)]
            assert {each.status for each in threads.map(shop.send_report, given, told)} == {"recorded"}
    return Played(*stored(folder / "shop.db"), belief, [int(each.coin or 0) for each in given], shown)


RANDOM_OR_TIMED = ("clock", "lease", "identity", "trail", "key_use")  # the last is written twice a second


def stored(path: Path) -> tuple[list[int], str]:
    """Codes in the order of slots; and every table without them, without the time, and without what is random."""
    connection = sqlite3.connect(path)
    codes = [int(code) for (code,) in connection.execute("SELECT demand FROM quote ORDER BY slot")]
    connection.close()
    return codes, tables(path, {*TIMED, ("quote", "demand")})


def tables(path: Path, left_out: Collection[tuple[str, str]]) -> str:
    """What is in all tables, without these columns and without what is random."""
    connection, rows = sqlite3.connect(path), {}
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        kept = [each for each in columns if (name, each) not in left_out]
        if name not in RANDOM_OR_TIMED:
            rows[name] = sorted(map(repr, connection.execute(f"SELECT {', '.join(kept)} FROM {name}")))
    connection.close()
    return repr(rows)


TIMED = {("quote", "deadline"), ("quote", "expires"), ("product", "created")}


def law(belief: Belief, record: CustomerRecord, coin: int) -> list[float]:
    """The probability of every code, by docs/proofs/trust.md, section 2: of the record, the coin and the belief."""
    asked, (context, demand) = belief.question, record
    away = residual(asked, Record(context, coin, asked.price(context, coin), demand))
    chances = []
    for about in range(asked.contexts + 1):
        low, high = bits.bounds(asked, coin, about)
        number = away if about == 0 else away * held(context)[about - 1] * bits.scale(asked.contexts)
        true = min(max((number - low) / (high - low), 0.0), 1.0)
        up = belief.keep * true + (1.0 - belief.keep) * (1.0 - true)
        drawn = 1.0 - asked.share if about == 0 else asked.share / asked.contexts
        chances += [drawn * (1.0 - up), drawn * up]
    return chances


def lawful(played: Played, record: CustomerRecord) -> bool:
    """Could these be reports on the record? Where they are, the answer is no once in a million times at most."""
    expected = np.mean([law(played.belief, record, coin) for coin in played.coins], axis=0)
    if not set(played.codes) <= set(range(expected.size)):
        return False
    # Coins differ, so a count varies less than a binomial one of their mean.
    seen = Counter(played.codes)
    found = [binomtest(seen[code], len(played.codes), float(chance)).pvalue for code, chance in enumerate(expected)]
    return min(found) > FALSE_ALARM / len(found)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[Played]:
    folder = tmp_path_factory.mktemp("worlds")
    return [play(folder / name, record) for name, record in (("one", ONE), ("other", OTHER))]


def test_what_the_shop_stores_is_a_bit_of_the_reports_law_and_nothing_else(worlds: list[Played]) -> None:
    one, other = worlds
    assert one.rest == other.rest  # whatever the customer was like and did: slots, prices, figures, all other tables
    assert lawful(one, ONE)
    assert lawful(other, OTHER)
    assert not lawful(one, OTHER)  # the two worlds do differ, and so many reports show it
    for coin in (-1, 1):
        ratios = np.array(law(one.belief, ONE, coin)) / np.array(law(one.belief, OTHER, coin))
        assert np.abs(np.log(ratios)).max() <= 1.0  # one of them tells no more than epsilon


def test_a_device_that_does_not_turn_its_bits_over_is_caught(worlds: list[Played]) -> None:
    """Planted: reports say what the customers did."""
    plain = replace(worlds[0].belief.question, share=0.0)
    kept = [bits.answer(plain, 1.0 - 2.0**-53, Record(ONE[0], coin, 0.0, ONE[1])).up for coin in worlds[0].coins]
    assert not lawful(worlds[0]._replace(codes=[int(up) for up in kept]), ONE)


def test_a_store_that_learns_the_price_that_was_shown_is_caught(tmp_path: Path, worlds: list[Played]) -> None:
    """Planted: the price of a customer's own device finds its way into the shop's store, or what they did."""
    one = play(tmp_path / "one", ONE, reports=100)
    path = tmp_path / "one" / "shop.db"
    before = stored(path)[1]
    connection = sqlite3.connect(path)
    for leak in (f"price = {one.shown[0] / 30.0}", "charged = '27.50'", "status = 2", "propensity = 0.25"):
        connection.execute(f"UPDATE quote SET {leak} WHERE slot = 1")
        connection.commit()
        after = stored(path)[1]
        assert after != before
        before = after
    connection.close()


def test_a_device_accepts_no_question_that_tells_more(shop: Client) -> None:
    belief, quote = shop.belief("tea"), shop.quote_for_device("tea")
    with pytest.raises(InvalidInput, match="keep"):
        Device([0.0, 0.0], epsilon=0.5).report(belief, quote, purchased=True)
    with pytest.raises(InvalidInput, match="either"):
        Device([0.0, 0.0], epsilon=4.0).report(belief, quote)
