"""A product whose prices earn less than its holdout, beyond its risk, freezes itself; a good one does not."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.service.cautious_runs import cautious_spec, learn, priced
from tests.service.learning_runs import WINDOW, Shop

from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.service.quoting.product_health import health_of, status_of
from hushprice.service.store.protocol import StoreUnavailable
from hushprice.service.store.values import NewOutcome, NewQuote

BATCHES, AT_ONCE, FEW = 12, 240, 90


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    uri = None if request.param == "sqlite" else request.getfixturevalue("postgres_uri")
    opened = Shop(tmp_path, cautious_spec(horizon=100_000, holdout=0.2), uri=uri)
    yield opened
    opened.close()


def sell(shop: Shop, *, others: float, chance: np.random.Generator, count: int = AT_ONCE) -> None:
    """So many customers: 0.5 of the holdout buy at today's price, and `others` of those who pay 12, the dearest."""
    now, quotes, outcomes = priced(shop), [], []
    for _ in range(count):
        number, apart = secrets.token_hex(16), bool(chance.random() < 0.2) or not now.personal
        context = chance.uniform(-1.0, 1.0, 2).astype("<f8").tobytes()
        share = 10.0 / 12.0 if apart else 1.0
        charged = f"{12.0 * share:.2f}"
        quotes.append(
            NewQuote(number, "tea", "web", context, share, charged, shop.time + 60.0, now.version, apart, WINDOW, None)
        )
        outcomes.append(NewOutcome(number, "web", float(chance.random() < (0.5 if apart else others))))
    shop.store.write(quotes, outcomes)


def status(shop: Shop) -> str:
    return shop.store.products(["tea"])[0].status


def until_frozen(shop: Shop, chance: np.random.Generator) -> None:
    for _ in range(BATCHES):
        sell(shop, others=0.05, chance=chance, count=FEW)
        learn(shop)
        if status(shop) == "frozen":
            return
    raise AssertionError("it never froze")


def test_a_bad_product_freezes_itself_says_so_and_can_be_resumed(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    chance = np.random.default_rng(3)
    caplog.set_level(logging.INFO, "hushprice")
    until_frozen(shop, chance)

    now = priced(shop)
    assert isinstance(now.quoter, CautiousQuoter)
    after = now.quoter.health.alarmed
    assert after is not None
    (line,) = [each.getMessage() for each in caplog.records if "frozen itself" in each.getMessage()]
    assert line == (
        f"product tea has frozen itself: up to slot {after} prices earned less than its holdout, beyond its risk"
    )
    found = health_of(now, with_cost=True)
    assert (found.status, found.alarms, found.alarm_after_slot) == ("frozen", 1, after)
    assert f"After slot {after} prices were found to earn less than the holdout" in found.words
    assert found.gain is not None
    assert found.gain.high < -0.1
    assert {str(now.price(bytes(16), each).charged) for each in (0.1, 0.5, 0.9)} == {"10.00"}
    assert [(each.what, each.actor) for each in shop.store.trail()][-1] == ("freeze", "learner")

    shop.wait(5.0)
    shop.store.set_status("tea", "open", shop.time, "key admin")  # somebody looked, and lets it go on
    for _ in range(2):
        sell(shop, others=0.6, chance=chance)
        learn(shop)
    assert status(shop) == "open"
    assert status_of(priced(shop)) != "frozen"


def test_a_freeze_that_a_crash_prevented_is_made_up_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release that showed it is stored, and the process dies. The next one finds it, whatever it learns."""
    shop, chance = Shop(tmp_path, cautious_spec(horizon=100_000, holdout=0.2)), np.random.default_rng(3)
    with monkeypatch.context() as patch:
        patch.setattr("hushprice.service.learning.loop.LearningLoop._freeze_where_worse", lambda *_: None)
        while shop.learner().alarmed is None:
            sell(shop, others=0.05, chance=chance)
            learn(shop)
    assert status(shop) == "open"
    sell(shop, others=0.05, chance=chance, count=1)
    learn(shop)
    assert status(shop) == "frozen"
    shop.close()


def test_nobody_sees_a_freeze_before_the_release_that_shows_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise that was not stored is drawn again: what was done because of it would be one look more."""
    shop, chance = Shop(tmp_path, cautious_spec(horizon=100_000, holdout=0.2)), np.random.default_rng(3)
    order: list[str] = []
    commit, set_status = shop.store.commit, shop.store.set_status

    def committed(*given: Any) -> None:
        if order.count("commit") % 2:  # every other one fails
            order.append("commit")
            raise StoreUnavailable("away")
        commit(*given)
        order.append("commit")

    def froze(name: str, *given: Any) -> None:
        learner = shop.learner()  # as it is stored
        assert learner.alarmed is not None
        assert learner.alarmed <= shop.releases()[-1].records
        set_status(name, *given)

    monkeypatch.setattr(shop.store, "commit", committed)
    monkeypatch.setattr(shop.store, "set_status", froze)
    for _ in range(3 * BATCHES):
        if status(shop) == "open":
            sell(shop, others=0.05, chance=chance)
        learn(shop)
    assert status(shop) == "frozen"
    shop.close()


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("others", [0.42, 0.7])
def test_a_product_that_keeps_its_promise_does_not_freeze(others: float, tmp_path: Path) -> None:
    """0.42 x 12 is what 0.5 x 10 earns, give or take; 0.7 is a lot more."""
    shop, chance = Shop(tmp_path, cautious_spec(horizon=100_000, holdout=0.2)), np.random.default_rng(4)
    for _ in range(BATCHES):
        sell(shop, others=others, chance=chance)
        learn(shop)
    assert status(shop) == "open"
    found = health_of(priced(shop), with_cost=False)
    assert found.alarms == 0
    assert found.earnings is None
    assert found.gain is not None
    assert found.gain.low < others * 12.0 / 5.0 - 1.0 < found.gain.high
    shop.close()
