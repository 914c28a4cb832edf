"""What must hold of the running service, on a store in a file. Each check raises AssertionError otherwise."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.learning_runs import BOUGHT, CONTEXTS, WINDOW, Shop, many_blocks, public, same_noise, spec

from hushprice.policies.newton.pricing import customer_price
from hushprice.policies.verification import verify
from hushprice.privacy.accountant import epsilon_of
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.privacy.loss import Loss
from hushprice.service.quoting.privacy_figures import privacy_of
from hushprice.service.quoting.product_table import ProductTable
from hushprice.service.shared import certificates
from hushprice.service.shared.certificates import customer_of, loss_of_product
from hushprice.service.shared.product import Product, quoter_of
from hushprice.service.shared.product_view import product_of
from hushprice.service.shared.seen_releases import SeenReleasesFile
from hushprice.service.store import lost_releases
from hushprice.service.store.protocol import LEASE
from hushprice.service.store.values import SeenRelease


@contextmanager
def opened() -> Iterator[Shop]:
    with tempfile.TemporaryDirectory() as folder, many_blocks():
        shop = Shop(Path(folder))
        try:
            yield shop
        finally:
            shop.close()


def shown(act: Callable[[Shop], None]) -> list[Any]:
    """What everybody may see of a shop that `act` happens to, with the same noise every time."""
    with opened() as shop, same_noise():
        act(shop)
        return public(shop.releases())


def learn(shop: Shop, turns: int = 40, **more: Any) -> None:
    learning = shop.learning(**more)
    for _ in range(turns):
        learning.turn()


def releases_wait_for_the_last_deadline() -> None:
    """Outcomes of all customers, of some and of none: the same releases, at the same times, none too early."""

    def seen(told: int) -> list[int]:
        with opened() as shop, same_noise():
            learning, counts = shop.learning(), []
            for n in range(20):
                identity = shop.quote(n)
                if n < told:
                    shop.tell(identity, 0.0)
            for _ in range(int(WINDOW) + 2):
                learning.turn()
                counts.append(len(shop.releases()))
                shop.wait(1.0)
            return counts

    complete, some, none = seen(20), seen(10), seen(0)
    assert complete == some == none
    assert complete[int(WINDOW) - 1] == 0 < complete[-1]


def late_purchases_change_nothing() -> None:
    def served(shop: Shop, late: bool) -> None:
        for n in range(30):
            shop.quote(n)
        shop.wait(WINDOW)
        if late:
            for identity in shop.ids:
                shop.tell(identity, 1.0)
        learn(shop, 3)

    assert shown(lambda shop: served(shop, True)) == shown(lambda shop: served(shop, False))


def restarts_draw_nothing_again() -> None:
    """A learner that is started anew after every few slots releases what one that runs on does."""

    def served(shop: Shop, restart: bool) -> None:
        shop.serve(stop=60)
        shop.wait(WINDOW)
        learning = shop.learning(chunk=5)
        for _ in range(15):
            learning.turn()
            if restart:
                shop.store.drop_lease(learning.holder)
                learning = shop.learning(chunk=5)

    assert shown(lambda shop: served(shop, True)) == shown(lambda shop: served(shop, False))


def over_cap_quotes_contribute_nothing() -> None:
    """A customer with a cap of two comes ten times; what the last eight are like and buy is in no release."""

    def served(shop: Shop, other: bool) -> None:
        for n in range(40):
            mine, over = n < 10, 2 <= n < 10
            context = -CONTEXTS[n] if other and over else None
            identity = shop.quote(n, context=context, customer=b"me" if mine else b"c%d" % n, cap=2)
            shop.tell(identity, 1.0 - BOUGHT[n] if other and over else BOUGHT[n])
        shop.wait(WINDOW)
        learn(shop, 3)

    first, second = (shown(lambda shop, o=other: served(shop, o)) for other in (False, True))
    assert first == second
    assert len(first) > 3


def retention_gives_no_second_cap() -> None:
    """What a customer of many visits is like is in no release after the cap, also when the first quotes are erased."""

    def served(shop: Shop, other: bool) -> None:
        shop.add(spec(name="capped", records_per_customer=2))
        for n in range(30):
            customer = b"me" if n % 15 < 3 else b"c%d" % n
            context = -CONTEXTS[n] if other and n >= 15 and customer == b"me" else None
            shop.quote(n, product="capped", context=context, customer=customer, cap=2)
            if n == 14:
                shop.wait(WINDOW)
                learn(shop, 3)
                assert shop.store.erase_quotes("capped", 10**6, 10, capped=True) == 10
        shop.wait(WINDOW + LEASE)
        learn(shop, 3)

    def seen(other: bool) -> list[Any]:
        with opened() as shop, same_noise():
            served(shop, other)
            return public(shop.releases("capped"))

    assert seen(False) == seen(True)


def charged_slots_are_not_learned_again() -> None:
    """After a restored backup releases are of slots after those that somebody has seen the effect of."""
    with opened() as shop, tempfile.TemporaryDirectory() as folder:
        shop.serve(stop=20)
        shop.back_up(Path(folder, "backup"))
        shop.wait(WINDOW)
        learn(shop, 2)
        used = shop.releases()[-1]
        shop.restore_backup(Path(folder, "backup"))
        shop.store.report_seen([SeenRelease("tea", used.sequence, used.records)])
        shop.wait(WINDOW + LEASE)
        learn(shop, 2)
        shop.serve(20, 60)
        shop.wait(WINDOW)
        learn(shop, 2, chunk=1000)
        assert shop.learned() == 60
        assert all(each.batch >= used.records and each.sequence > used.sequence for each in shop.releases())


def colliding_numbers_are_charged() -> None:
    """The only quoter that has seen a release tells of it when, after a restored backup, its number was given again."""
    with opened() as shop, tempfile.TemporaryDirectory() as folder:
        shop.serve(stop=20)
        shop.back_up(Path(folder, "backup"))
        shop.wait(WINDOW)
        learn(shop, 2)
        used = shop.releases()[0]
        shop.restore_backup(Path(folder, "backup"))
        shop.wait(WINDOW + LEASE)
        learning = shop.learning()
        learning.turn()
        again = shop.releases()
        assert again[0].numbers != used.numbers
        shop.store.report_seen([SeenRelease("tea", used.sequence, used.records, lost_releases.digest(used.numbers))])
        learning.turn()
        charged = shop.learned()
        shop.serve(20, 60)
        shop.wait(WINDOW)
        learning.turn()
        assert [change.what for change in shop.store.changes("tea")] == ["overlapping histories"]
        fresh = shop.releases()[len(again) :]
        assert fresh
        # No record of the batch at hand is released on, and no number is used twice.
        assert all(each.batch >= charged and each.sequence > again[-1].sequence + 1 for each in fresh)


def releases_are_noted_before_they_are_shown() -> None:
    """Whenever a board shows a release, its note is on disk; and a certificate comes after both."""
    with opened() as shop, tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "seen.json")
        board = ProductTable(SeenReleasesFile(file))
        before = None
        for stop in (20, 60):
            shop.serve(stop - 20, stop)
            shop.wait(WINDOW)
            shown = board.history(shop.store, "tea") if board.products else board.refresh(shop.store)
            held, noted = board.products["tea"], SeenReleasesFile(file).all()
            assert [each.sequence for each in shown] == [*range(1, held.sequence + 1)]
            assert [held.sequence] * bool(held.sequence) == [each.sequence for each in noted]
            assert board.certificate(shop.store, "tea") == before  # the same as before, so it says nothing new
            learn(shop, 2)
            before = b"after %d slots" % stop
            shop.store.add_certificate("tea", before, shop.time)
            assert board.certificate(shop.store, "tea") == before
            highest = [each.sequence for each in SeenReleasesFile(file).all()]
            assert highest == [len(shop.releases())] == [board.products["tea"].sequence]


def a_record_pays_for_overlapping_histories() -> None:
    """A backup is restored, one quoter tells of it, the learner goes on, and then another comes who had seen more."""
    certificates._proven.cache_clear()  # a planted promise must not be remembered
    with opened() as shop, tempfile.TemporaryDirectory() as folder:
        shop.serve(stop=40)
        shop.back_up(Path(folder, "backup"))
        shop.wait(WINDOW)
        learning, notes = shop.learning(chunk=10), [Path(folder, name) for name in ("first", "second")]
        for note in notes:
            learning.turn()
            ProductTable(SeenReleasesFile(note)).refresh(shop.store)
        lost = shop.releases()
        shop.restore_backup(Path(folder, "backup"))
        shop.wait(WINDOW + LEASE)
        learning = shop.learning(chunk=10, signing_key=Ed25519PrivateKey.generate())
        for note in notes:
            board = ProductTable(SeenReleasesFile(note))
            board.refresh(shop.store)
            learning.turn()
            learning.turn()
        board.refresh(shop.store)
        assert {each.records for each in lost} & {each.records for each in shop.releases()}  # the same slots, twice
        assert [each.what for each in shop.store.changes("tea")] == ["restored backup", "overlapping histories"]
        certified = verify(Certificate.parse(shop.store.certificate("tea") or b""))
        figures = privacy_of(board.products["tea"])
        product = board.products["tea"].product
        twice = Loss(mu_squared=2.0 * loss_of_product(product).mu_squared)
        assert certified.proven.epsilon >= epsilon_of(twice, 1e-6) > certified.claimed.epsilon
        assert figures.proven is not None
        assert (figures.proven.epsilon, figures.spent) == (certified.proven.epsilon, figures.proven)
        assert "2 histories" in figures.note


def a_customer_pays_for_restored_backups() -> None:
    """Caps are counted anew after each of them, in the certificate as on the page."""
    with opened() as shop:
        shop.add(spec(name="capped", records_per_customer=2, epsilon=1.0))
        shop.store.report_seen([SeenRelease("capped", 4, 30, b"lost", restores=1)])
        learn(shop, 2, signing_key=Ed25519PrivateKey.generate())
        (stored,) = [each for each in shop.store.products() if each.name == "capped"]
        promised = customer_of(product_of(stored), stored.restores)
        certified = verify(Certificate.parse(shop.store.certificate("capped") or b"")).customer
        assert promised is not None
        assert promised == certified
        assert promised.records == 6


def customers_priced_at_once_never_mix() -> None:
    """While one customer's features are in the making, another is priced on another thread: both as when alone.

    Un-compiled, so that it happens at that moment and not by chance.
    """
    quoter = quoter_of(Product(name="tea", currency="EUR", ceiling=10.0, contexts=2))
    quoter.ready, quoter.theta[:] = True, (0.3, -0.2, 1.0)
    quoter.inverse[:] *= 1e-3  # so sure that prices are inside
    one, other = np.array([0.9, -0.8]), np.array([-0.7, 0.6])
    alone = [quoter.price_of_checked(each, 0.5) for each in (one, other)]
    fill, meanwhile = customer_price.fill, list[float]()

    def fill_and_serve_another(*given: Any) -> None:
        fill(*given)
        if threading.current_thread() is threading.main_thread():
            thread = threading.Thread(target=lambda: meanwhile.append(quoter.price_of_checked(other, 0.5)))
            thread.start()
            thread.join()

    price = customer_price.price_of_customer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(customer_price, "fill", fill_and_serve_another)
        patch.setattr(customer_price, "price_of_customer", getattr(price, "py_func", price))
        together = [quoter.price_of_checked(one, 0.5), *meanwhile]
    assert together == pytest.approx(alone, abs=1e-12)
    assert abs(alone[0] - alone[1]) > 0.01
