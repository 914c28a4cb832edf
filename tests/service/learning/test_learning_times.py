"""When slots are learned: after their deadlines, whatever outcomes say, and each once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.learning_runs import (
    BOUGHT,
    CONTEXTS,
    COUNT,
    WINDOW,
    Shop,
    learn_all,
    public,
    releases_of,
    same_noise,
    spec,
)

pytestmark = pytest.mark.usefixtures("blocks")


def test_nothing_is_released_before_its_last_slots_deadline_however_complete_the_outcomes_are(shop: Shop) -> None:
    learning, deadlines = shop.learning(), list[float]()
    for n in range(12):
        shop.tell(shop.quote(n), BOUGHT[n])
        deadlines.append(shop.time + WINDOW)
        shop.wait(2.0)
    while shop.time < deadlines[-1]:
        learning.turn()
        assert all(deadlines[release.records - 1] <= shop.time for release in shop.releases())
        shop.wait(min(1.0, deadlines[-1] - shop.time))
    learning.turn()
    assert shop.releases()[-1].records > 9  # noise decides whether a batch ends at 9 or at 12, and when it is looked at


def test_release_times_do_not_depend_on_when_or_whether_outcomes_come(tmp_path: Path) -> None:
    def times(name: str, tells: Any) -> list[tuple[int, float]]:
        (tmp_path / name).mkdir()
        shop = Shop(tmp_path / name)
        learning, seen = shop.learning(), []
        with same_noise():
            for second in range(COUNT + 70):
                if second < 20:
                    shop.quote(second)
                for n in tells(second):
                    shop.tell(shop.ids[n], 0.0)
                shop.wait(1.0)
                learning.turn()
                seen.append((len(shop.releases()), shop.learned()))
        shop.close()
        return seen

    at_once = times("at once", lambda second: [second] if second < 20 else [])
    late = times("late", lambda second: [second - 50] if 50 <= second < 70 else [])
    never = times("never", lambda second: [])
    assert at_once == late == never
    assert at_once[-1][0] > 2


def test_a_late_purchase_is_not_learned_even_where_its_slot_was_not_learned_yet(tmp_path: Path) -> None:
    def served(shop: Shop, late: bool) -> None:
        for n in range(30):
            shop.quote(n)
        shop.wait(WINDOW + 1.0)
        if late:
            assert {shop.tell(each, 1.0).status for each in shop.ids} == {"late"}
        learn_all(shop)
        if late:
            assert {shop.tell(each, 1.0).status for each in shop.ids} <= {"late", "unknown"}
            learn_all(shop)

    assert releases_of(tmp_path / "late", lambda shop: served(shop, True)) == releases_of(
        tmp_path / "never", lambda shop: served(shop, False)
    )


def test_over_cap_and_forgotten_customers_leave_no_trace_in_releases(tmp_path: Path) -> None:
    def served(shop: Shop, other: bool) -> None:
        for n in range(40):
            again = 0 < n < 6  # customer "a" comes six times and may count once
            context = -CONTEXTS[n] if other and (again or n == 20) else None
            customer = b"a" if again or n == 0 else b"gone" if n == 20 else b"c%d" % n
            identity = shop.quote(n, context=context, customer=customer, cap=1)
            shop.tell(identity, 1.0 if other and again else BOUGHT[n])
        shop.store.forget(b"gone")
        learn_all(shop)

    one, two = (releases_of(tmp_path / str(other), lambda shop, o=other: served(shop, o)) for other in (False, True))
    assert one == two
    assert len(one) > 3


def test_a_product_of_a_frozen_shop_is_learned_on(shop: Shop) -> None:
    shop.serve()
    shop.store.set_status("tea", "frozen", shop.time)
    learn_all(shop)
    assert shop.learned() == COUNT


def test_slots_after_the_horizon_are_counted_and_release_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path, spec(horizon=46))
    shop.serve()
    learn_all(shop)
    assert shop.learned() == COUNT
    assert shop.releases()[-1].records <= 46
    assert not shop.learner().learning
    shop.close()


def test_a_product_found_at_run_time_is_learned(shop: Shop) -> None:
    learning = shop.learning()
    learning.turn()
    shop.add(spec(name="coffee"))
    shop.serve(stop=20, product="coffee")
    shop.wait(WINDOW)
    learning.turn()
    assert shop.learned("coffee") == 20


def test_both_stores_are_learned_from_alike(store_uri: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    shown = []
    for shop in (Shop(tmp_path, uri=store_uri), Shop(tmp_path / "other")):
        with same_noise():
            shop.serve(stop=40)
            learn_all(shop, chunk=15, signing_key=Ed25519PrivateKey.generate())
        assert shop.learned() == 40
        shown.append(public(shop.releases()))
        shop.close()
    assert shown[0] == shown[1]
    assert len(shown[0]) > 3
