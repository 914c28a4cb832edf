"""Trust aggregated in two worlds that differ in a customer: what the shop, one aggregator and a watcher have seen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from scipy.stats import chisquare
from tests.service.aggregator_runs import aggregating
from tests.service.http.running import KEYS, Running, running
from tests.service.http.test_aggregated_trust import TEA
from tests.service.http.test_local_trust import TIMED, tables
from tests.service.learning_runs import same_noise
from tests.waiting import PATIENCE

from hushprice.client import Aggregators, Client, DeviceReport, Quote, SharingDevice
from hushprice.policies.cautious.pricing.question import promise_of
from hushprice.policies.cautious.private.aggregator import joined, promised, scales_of
from hushprice.service.http.routes import quotes
from hushprice.service.quoting.randomness import SIZE
from hushprice.service.shared import quote_ids
from hushprice.service.shared.aggregator_messages import Agreed, BatchOver
from hushprice.service.shared.product import Product, quoter_of
from hushprice.trust import shares

SPEC = TEA | {"epsilon": 1.0}
QUOTER: Any = quoter_of(msgspec.convert(SPEC, Product))
PROMISE, CHOICE = promise_of(QUOTER), QUOTER.rule.choice
EVENT = promised(PROMISE)
USUAL, ONE, OTHER = ((0.1, 0.2), 1.0), ((0.9, -0.8), 1.0), ((-0.7, 0.6), 0.0)
CUSTOMERS = 40
FALSE_ALARM = 1e-6


class Seen(NamedTuple):
    """What each has after so many customers and one batch."""

    shop: str  # everything stored, but for times
    aggregators: list[list[int]]  # words of all shares, of either
    besides: list[str]  # all else that either has stored
    release: np.ndarray


def play(folder: Path, record: tuple[Sequence[float], float], *, leaky: bool = False) -> Seen:
    """The first customer is the one in question. The learner's part, the batch's end, is played here."""
    folder.mkdir()
    random = np.random.default_rng(5)
    with ExitStack() as opened, pytest.MonkeyPatch.context() as patch, same_noise():
        server = opened.enter_context(running(str(folder / "shop.db"), folder))
        both = [opened.enter_context(aggregating(folder / name, {"tea": PROMISE})) for name in ("one", "two")]
        patch.setattr(quotes, "random_bytes", lambda: random.bytes(SIZE))
        patch.setattr(quote_ids, "clock_bytes", lambda now: bytes(2))
        made = server.client("admin").post("/v1/products", json=SPEC)
        assert made.status_code == 201, made.text
        given = visits(server, [each.url for each in both], record, leaky=leaky)
        shop = tables(folder / "shop.db", TIMED)
        words = [words_at(each.store) for each in both]
        besides = [tables(each.store, {("share", "words"), ("identity", "id")}) for each in both]
        batch = BatchOver(product="tea", follows=0, choice=CHOICE, quotes="".join(str(each.id) for each in given))
        assert [each.opened.over(batch) for each in both] == [batch.quotes] * 2
        told = [each.opened.publish(Agreed(product="tea", batch=batch.name, quotes=batch.quotes))[1] for each in both]
    return Seen(shop, words, besides, np.array(joined(EVENT, CHOICE, *map(shares.read, told))))


def visits(server: Running, urls: list[str], record: tuple[Sequence[float], float], *, leaky: bool) -> list[Quote]:
    with (
        Client(server.url, KEYS["shop"], timeout=PATIENCE) as shop,
        closing(Aggregators(*urls, timeout=PATIENCE)) as aggregators,
    ):
        belief, given = shop.belief("tea"), []
        for n in range(CUSTOMERS):
            (context, demand), quote = record if n == 0 else USUAL, shop.quote_for_device("tea")
            report = SharingDevice(context).report(belief, quote, quantity=demand)
            assert report is not None
            assert aggregators.send(report).status == "recorded"
            if leaky:
                numbers = shares.joined(shares.read(report.first), shares.read(report.second))
                shop.send_report(quote, DeviceReport(0, up=numbers[0] > 0))
            given.append(quote)
    return given


def words_at(store: Path) -> list[int]:
    import sqlite3

    with closing(sqlite3.connect(store)) as connection:
        return [word for (text,) in connection.execute("SELECT words FROM share") for word in shares.read(text)]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[Seen]:
    folder = tmp_path_factory.mktemp("worlds")
    return [play(folder / name, record) for name, record in (("one", ONE), ("other", OTHER))]


def test_the_shop_stores_nothing_of_a_customer(worlds: list[Seen]) -> None:
    one, other = worlds
    assert one.shop == other.shop


def test_a_share_that_is_sent_to_the_shop_is_caught(tmp_path: Path, worlds: list[Seen]) -> None:
    """Planted: the device tells the shop what its shares add up to."""
    one, other = (play(tmp_path / name, record, leaky=True).shop for name, record in (("one", ONE), ("other", OTHER)))
    assert one != other


def uniform(words: Sequence[int]) -> bool:
    """Could these be uniform words? Said of such once in a million times at most to be none."""
    counts = np.bincount(np.frombuffer(np.array(words, dtype="<u8").tobytes(), dtype=np.uint8), minlength=256)
    return bool(chisquare(counts).pvalue > FALSE_ALARM)


def test_one_aggregator_stores_uniform_words_and_nothing_else(worlds: list[Seen]) -> None:
    one, other = worlds
    assert one.besides == other.besides
    assert all(uniform(words) for world in worlds for words in world.aggregators)


def test_shares_that_are_not_drawn_are_caught(worlds: list[Seen]) -> None:
    """Planted: the first share is 0, so the second is the numbers themselves."""
    both = worlds[0].aggregators
    plain = [word % (1 << 64) for word in shares.joined(*both)]
    assert not uniform(plain)
    assert not uniform([0] * len(plain))


def test_a_watcher_sees_sums_with_noise_that_no_record_moves(worlds: list[Seen]) -> None:
    """With the same noise, releases differ by what the record adds: so far as the noise was bought for, no further."""
    one, other = (world.release for world in worlds)
    scales = np.array(scales_of(EVENT, CHOICE))
    scores, used = 2 * (EVENT.contexts + 1), scales > 0.0
    apart = np.zeros(scales.size)
    apart[used] = np.abs(one - other)[used] / scales[used]
    described = slice(scores, scores + EVENT.descriptions)
    assert 0.3 < apart[:scores].sum() + apart[-2:].sum() < 0.95  # of epsilon 1: Laplace noise
    assert 0.0 < np.linalg.norm(apart[described]) < 0.1
