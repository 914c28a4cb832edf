"""Buckets of tokens: none is forgotten before it is full again, and none is kept longer for nothing."""

from __future__ import annotations

from hushprice.service.shared.quote_ids import is_given, new_id
from hushprice.service.shared.rate_limits import Allowances, RateLimits
from hushprice.service.store.values import ApiKey

SECRET = b"a secret of the tests, 32 bytes."
SHOP, OTHER = (ApiKey(name, "shop", name.encode() * 8) for name in ("shop", "other"))


def test_a_bucket_is_dropped_once_it_is_full_again_and_not_before() -> None:
    limits = RateLimits(1.0, 10.0)
    assert limits.take("late", 19.0, 10) == 0.0
    for second in range(20, 60):
        assert limits.take(f"name {second}", float(second)) == 0.0
        if second < 29:  # one that is asked for all the time would refill too; this one is only looked at
            assert limits.take("late", float(second), 11) > 0.0
    assert len(limits._buckets) + len(limits._older) < 30
    assert limits.take("name 20", 60.0, 10) == 0.0
    drained = RateLimits(1.0, 10.0)
    drained.take("name", 100.0, 10)
    for second in range(101, 109):  # over the turn of the two halves
        drained.take("another", float(second))
        assert drained.take("name", float(second), 10) > 0.0


def test_a_token_that_is_given_back_can_be_taken_again() -> None:
    limits = RateLimits(1e-6, 1.0)
    assert limits.take("quote", 0.0) == 0.0
    limits.give_back("quote", 0.0)
    assert limits.take("quote", 0.0) == 0.0
    assert limits.take("quote", 0.0) > 0.0


def test_an_id_is_known_to_be_given_to_one_key_only() -> None:
    quote = new_id(SECRET, SHOP.identity, b"random bytes, of which 10 are used", 1e9)
    assert is_given(SECRET, SHOP.identity, quote)
    assert not is_given(SECRET, OTHER.identity, quote)
    assert not is_given(b"another", SHOP.identity, quote)
    for place in range(32):
        changed = quote[:place] + ("0" if quote[place] != "0" else "1") + quote[place + 1 :]
        assert not is_given(SECRET, SHOP.identity, changed)
    assert not is_given(SECRET, SHOP.identity, quote.upper())


def test_every_kind_of_call_has_a_bucket_of_its_own() -> None:
    allowances = Allowances(100.0, SECRET)
    quotes = [new_id(SECRET, SHOP.identity, bytes([n] * 10), 1e9) for n in (1, 2)]
    buckets = [
        allowances.of_quotes(SHOP),
        allowances.of_quotes(OTHER),
        allowances.of_others(SHOP),
        allowances.of_visitor("192.0.2.7"),
        allowances.of_visitor("192.0.2.8"),
        *(allowances.of_outcome(SHOP, each) for each in quotes),
        allowances.of_outcome(SHOP, "0" * 32),
        allowances.of_outcome(OTHER, quotes[0]),
    ]
    assert len({(id(each.limits), each.name) for each in buckets}) == len(buckets)
    assert [each.prepaid for each in buckets] == [False] * 5 + [True] * 2 + [False] * 2
