"""Policy cautious in the service: what is learned of quotes and outcomes, restarts, and what quoters follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.cautious_runs import cautious_spec, learn, priced, serve
from tests.service.learning_runs import Shop, public, same_noise, seen_of, spec

from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.cautious.engine import CautiousEngine
from hushprice.policies.cautious.pricing import quoter as quoters
from hushprice.policies.cautious.pricing import stored_belief
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter, coin_of
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.saved import OUTDATED
from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.learning.learner_state import unpack
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.product import policy_of, quoter_of
from hushprice.service.shared.quote_ids import uniform_of
from hushprice.service.shared.quoters import belief_json
from hushprice.service.store import consistency
from hushprice.service.store.protocol import LearnerStore
from hushprice.service.store.values import LearnerState, NewQuote

COUNTS = (60, 100, 90)


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    uri = None if request.param == "sqlite" else request.getfixturevalue("postgres_uri")
    opened = Shop(tmp_path, cautious_spec(), uri=uri)
    yield opened
    opened.close()


@pytest.fixture
def quick_shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path, cautious_spec())
    yield opened
    opened.close()


def engine_of(learner: ProductLearner) -> CautiousEngine:
    assert isinstance(learner._engine, CautiousEngine)
    return learner._engine


def bought(store: LearnerStore, quotes: list[NewQuote]) -> dict[int, float]:
    return {slot.slot: slot.demand or 0.0 for slot in store.due("tea", 0, len(quotes))}


def test_what_is_released_is_what_the_two_sides_make_of_the_same_records(shop: Shop) -> None:
    """Slow reference: the learner's sums over all records of a batch at once, with the same noise."""
    with same_noise():
        quotes = serve(shop, 150)
        shop.wait(61.0)
        demands = bought(shop.store, quotes)
        learn(shop)
    rules = policy_of(priced(shop).product).rules  # type: ignore[attr-defined]
    quoter = CautiousQuoter(rules)
    learner = CautiousLearner(rules=rules, source=System(), choice=quoter.rule.choice)
    released = shop.releases()
    assert [each.kind for each in released] == ["moments"] * len(released)
    with same_noise():
        for number, each in enumerate(released, 1):
            batch = range(learner.count, quoter.end)
            learner.absorb(
                np.array([np.frombuffer(quotes[n].context, dtype="<f8") for n in batch]),
                np.array([(quotes[n].price * 12.0 - 10.0) / 2.0 for n in batch]),
                np.array([coin_of(uniform_of(bytes.fromhex(quotes[n].id))) for n in batch]),
                np.array([demands[n + 1] for n in batch]),
                quoter.belief.theta,
                holdout=np.array([quotes[n].holdout for n in batch]),
            )
            made = learner.release()
            numbers = np.concatenate([made.score, made.descriptions, made.earnings])
            assert np.frombuffer(each.numbers, dtype="<f8").tolist() == numbers.tolist()
            assert (each.sequence, each.version, each.records, each.batch) == (number, number, made.records, batch[0])
            quoter.accept(made)
            learner.begin(quoter.rule.choice)
            assert each.belief == belief_json(quoter)
    assert len(released) >= 2
    assert consistency.problems(shop.store) == []


def test_quoters_follow_and_price_as_the_learner_does(shop: Shop) -> None:
    serve(shop, 60)
    learn(shop)
    now, quoter = priced(shop), engine_of(shop.learner()).quoter
    assert (now.version, now.label) == (1, "noised")
    assert isinstance(now.quoter, CautiousQuoter)
    assert (now.quoter.look, now.quoter.rule) == (quoter.end, quoter.rule)
    np.testing.assert_array_equal(now.quoter.belief.covariance, quoter.belief.covariance)
    np.testing.assert_array_equal(now.quoter.earned, quoter.earned)
    for uniform in (0.2, 0.5, 0.8):
        context = np.array([0.3, -0.4])
        price = 10.0 + 2.0 * quoter.relative_price(context, coin_of(uniform))
        assert float(now.price(context.tobytes(), uniform).charged) == pytest.approx(price, abs=0.00501)


def test_restarts_at_any_moment_change_nothing_and_draw_nothing_again(tmp_path: Path) -> None:
    def shown(name: str, chunk: int) -> Any:
        (tmp_path / name).mkdir()
        shop = Shop(tmp_path / name, cautious_spec())
        with same_noise() as draws:
            for count in COUNTS:
                serve(shop, count)
                shop.wait(61.0)
                more = True
                while more:  # another process for every chunk
                    learning = shop.learning(chunk=chunk)
                    more = learning.turn()
                    shop.store.drop_lease(learning.holder)
        releases, drawn = public(shop.releases()), list(draws)
        shop.close()
        return releases, drawn

    whole = shown("whole", 2000)
    assert len(whole[0]) >= 3
    assert shown("17", 17) == whole
    assert shown("49", 49) == whole


def test_a_learner_restored_is_the_learner_stored(quick_shop: Shop) -> None:
    serve(quick_shop, 130)
    learn(quick_shop)
    learner = quick_shop.learner()
    stored = quick_shop.store.state("tea")
    assert stored is not None
    assert learner.state() == stored
    saved = unpack(stored.state)
    assert saved.cautious is not None
    assert saved.cautious.earned.shape == (2,)  # what others than the learner may ask for
    assert saved.cautious.belief.theta.shape == (6,)


def test_slots_over_a_cap_and_forgotten_ones_contribute_nothing_and_keep_their_places(quick_shop: Shop) -> None:
    """48 records of one customer with a cap of none but one: the sums hold one record, the batch ends all the same."""
    with same_noise():
        serve(quick_shop, 48, cap=1, customer=b"the same one")
        learn(quick_shop)
    (release,) = quick_shop.releases()
    assert release.records == 48
    described = np.frombuffer(release.numbers, dtype="<f8")[9:26]
    counts = described[:16].reshape(2, 8).sum(axis=1) * 2.0  # bins are divided by sqrt(2 k)
    noise = policy_of(priced(quick_shop).product).rules.noise.description * 2.0 * 8**0.5  # type: ignore[attr-defined]
    assert (np.abs(counts - 1.0) < 5.0 * noise).all()
    assert 5.0 * noise < 20.0  # 48 records would be seen


def test_a_batch_that_was_frozen_all_along_teaches_nothing(quick_shop: Shop) -> None:
    """All of its slots count as the holdout: no price was tried out, whatever their scores say."""
    serve(quick_shop, 48, holdout=True, price=10.0 / 12.0)
    learn(quick_shop)
    quoter = engine_of(quick_shop.learner()).quoter
    assert quoter.version == 1
    np.testing.assert_allclose(quoter.belief.theta, 0.0, atol=1e-12)
    assert quoter.batches[0].rule.count == quoter.past[0].rule.count == 0
    assert quoter.earned[0] > quoter.earned[1]


def test_how_many_slots_were_priced_by_the_rule_depends_on_no_record(quick_shop: Shop) -> None:
    quotes = serve(quick_shop, 30, cap=1, customer=b"the same one")  # all but one are over the cap
    learn(quick_shop)
    learner = engine_of(quick_shop.learner()).learner
    assert (learner.count, learner.priced) == (30, sum(not each.holdout for each in quotes))


def test_after_a_restored_backup_what_was_seen_is_not_learned_again(quick_shop: Shop, tmp_path: Path) -> None:
    shop = quick_shop
    serve(shop, 60)
    learn(shop)
    shop.back_up(tmp_path / "backup.db")
    serve(shop, 100)
    learn(shop)
    seen = seen_of(shop.releases())
    assert seen.sequence > 1
    shop.restore_backup(tmp_path / "backup.db")
    shop.store.report_seen([seen])
    learn(shop)
    learner = shop.learner()
    assert (learner.learned, learner.sequence) == (seen.records, seen.sequence)
    assert engine_of(learner).quoter.batch == seen.records
    serve(shop, 100)
    learn(shop)
    assert shop.releases()[-1].sequence > seen.sequence
    assert shop.releases()[-1].batch >= seen.records


def test_learning_ends_at_the_horizon_or_where_the_product_is_retired(tmp_path: Path) -> None:
    shop = Shop(tmp_path, cautious_spec(horizon=50))
    serve(shop, 60)
    learn(shop)
    learner = shop.learner()
    assert (learner.learning, learner.learned, learner.next_release) == (False, 60, None)
    state = shop.store.state("tea")
    assert state is not None
    assert unpack(state.state).cautious is None  # no sums that no release will come of
    shop.close()
    other = ProductLearner(cautious_spec())
    other.retire()
    assert (other.learning, other.version) == (False, 0)


def test_a_state_of_another_policy_or_another_moment_is_refused() -> None:
    newton, cautious = ProductLearner(spec()), ProductLearner(cautious_spec())
    theirs, mine = unpack(newton.state().state), unpack(cautious.state().state)
    from hushprice.service.learning.learner_state import pack

    def stored(saved: Any) -> LearnerState:
        return LearnerState("tea", saved.learned, saved.sequence, pack(saved), b"{}")

    cautious.restore(stored(mine))
    mixed = msgspec.structs.replace(mine, cautious=None, engine=theirs.engine)
    with pytest.raises(InvalidInput, match="the stored engine is of another policy"):
        cautious.restore(stored(mixed))
    moved = msgspec.structs.replace(mine, learned=3)
    with pytest.raises(InvalidInput, match="the stored engine does not fit the rest of the learner"):
        cautious.restore(stored(moved))


def test_a_certificate_is_issued_and_verifies(shop: Shop) -> None:
    serve(shop, 50)
    learn(shop, signing_key=Ed25519PrivateKey.generate())
    issued = shop.store.certificate("tea")
    assert issued is not None
    found = verify(Certificate.parse(issued))
    policy = policy_of(priced(shop).product)
    assert (found.claimed, found.proven) == (policy.claimed, policy.proven)
    assert Certificate.parse(issued).content("mechanism")["policy"] == "cautious"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"theta": [0.0]}, "theta"),
        ({"covariance": [[0.0], [0.0, 1.0]]}, "covariance"),
        ({"rule": {"count": 0, "move": 0.0, "spread": 0.0, "choice": 0}}, "rule"),
        ({"rule": {"count": 5, "move": 0.0, "spread": 7.0, "choice": 0}}, "rule.spread"),
        ({"version": -1}, "version"),
        ({"batch": -1}, "batch"),
    ],
)
def test_a_belief_of_another_product_is_refused(change: dict[str, Any], field: str) -> None:
    learner = ProductLearner(cautious_spec())
    belief = msgspec.json.decode(belief_json(engine_of(learner).quoter))
    with pytest.raises(InvalidInput, match=rf"^belief\.{field} must"):
        quoter_of(learner.product, None, msgspec.json.encode({**belief, **change}))


def test_a_product_with_a_release_is_opened_without_planning_its_first_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes a hundred times as long: a start with a thousand products would plan for half a minute."""
    learner = ProductLearner(cautious_spec())
    belief = belief_json(engine_of(learner).quoter)
    monkeypatch.setattr(quoters, "first_rule", None)
    monkeypatch.setattr(stored_belief, "first_rule", None)
    monkeypatch.setattr(quoters.CautiousQuoter, "_plan", None)
    assert belief_json(quoter_of(learner.product, None, belief)) == belief


def test_a_state_of_before_there_was_laplace_noise_is_refused_in_one_clear_line() -> None:
    """Written by that version, in the middle of a batch: its sums are others, and are never added to."""
    state = (Path(__file__).parent / "gaussian_learner.state").read_bytes()
    with pytest.raises(InvalidInput) as told:
        unpack(state)
    assert str(told.value) == f"the stored state {OUTDATED}"
    assert "\n" not in str(told.value)
