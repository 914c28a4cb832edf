"""The live learner of one product learns what the engine learns, keeps it, and adds nothing that must not count."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.service.learning_runs import (
    BOUGHT,
    CONTEXTS,
    COUNT,
    PRICES,
    Shop,
    public,
    same_noise,
    spec,
)

from hushprice import Pricer
from hushprice.errors import InvalidInput
from hushprice.noise import Tape
from hushprice.policies.newton.pricing.stored_belief import StoredBelief, belief_of
from hushprice.service.learning import learner_state
from hushprice.service.learning.learner_state import Clipped, pack, unpack
from hushprice.service.learning.product_learner import ProductLearner
from hushprice.service.shared.product import Product, demand_of, features_of, policy_of
from hushprice.service.store.values import LearnerState, SeenRelease, Slot

pytestmark = pytest.mark.usefixtures("blocks")


def slot(n: int, **changes: Any) -> Slot:
    """The slot of customer n, counted from 0."""
    given: dict[str, Any] = {
        "slot": n + 1,
        "context": CONTEXTS[n].astype("<f8").tobytes(),
        "price": float(PRICES[n]),
        "demand": BOUGHT[n],
        "counts": True,
    }
    return Slot(**given | changes)


def fed(learner: ProductLearner, slots: list[Slot]) -> list[Any]:
    """All releases that come of these slots, a commit after each."""
    made = []
    while slots:
        slots = slots[learner.learn(slots, 1.0) :]
        made += public(learner.pending)
        learner.committed()
    return made


SLOTS = [slot(n) for n in range(COUNT)]


def engine_beliefs(pricer: Pricer) -> list[StoredBelief]:
    """The belief after each slot, learned by the engine itself."""
    features, beliefs = pricer.features, []
    for n in range(COUNT):
        u, v = features.parts(CONTEXTS[n])
        pricer.engine.step(u + PRICES[n] * v, BOUGHT[n])
        beliefs.append(belief_of(pricer.quoter))
    return beliefs


def pricer_of(body: bytes, **more: Any) -> Pricer:
    product = msgspec.json.decode(body, type=Product)
    return Pricer(
        policy=policy_of(product),
        demand=demand_of(product),
        features=features_of(product),
        horizon=product.horizon,
        **more,
    )


@pytest.mark.parametrize("features", ["main", "intercept", "interactions"])
@pytest.mark.parametrize("noise", ["tape", "system"])
def test_the_same_records_and_noise_give_the_engines_beliefs(noise: str, features: str) -> None:
    body = spec(features=features)
    simulated: dict[str, Any] = {"source": Tape(3, 0), "simulation": True} if noise == "tape" else {}
    with same_noise() as draws:
        expected = engine_beliefs(pricer_of(body, **simulated))
        drawn = len(draws)
    with same_noise() as draws:
        made = fed(ProductLearner(body, **simulated), SLOTS)
        assert len(draws) == drawn
    assert len(made) > 5
    for _, version, _, records, _, _, belief in made:
        ends = [each for each in made if each[3] == records]
        if version == ends[-1][1]:  # of a curvature and its batch's score, the score has the belief after both
            assert msgspec.json.decode(belief, type=StoredBelief) == expected[records - 1]
    assert made[-1][1] == expected[-1].version > 2


def test_a_pricer_that_quotes_and_a_store_that_is_learned_from_agree(tmp_path: Path) -> None:
    body = spec()
    with same_noise():
        pricer = pricer_of(body)
        prices = []
        for n in range(COUNT):
            quote = pricer.quote(CONTEXTS[n])
            prices.append(quote.price)
            pricer.observe(quote.id, BOUGHT[n])
        pricer.quote([0.0, 0.0])
    shop = Shop(tmp_path, body)
    with same_noise():
        for n, price in enumerate(prices):
            shop.tell(shop.quote(n, price=price), BOUGHT[n])
        shop.wait(61.0)
        shop.learning().turn()
    latest = shop.store.latest_release("tea")
    assert latest is not None
    assert msgspec.json.decode(latest.belief, type=StoredBelief) == belief_of(pricer.quoter)
    shop.close()


def test_a_curvature_and_its_batchs_score_are_two_releases_and_one_version() -> None:
    with same_noise():
        made = fed(ProductLearner(spec()), SLOTS)
    assert [each[0] for each in made] == list(range(1, len(made) + 1))
    for (_, version, kind, records, batch, numbers, belief), after in zip(made, [*made[1:], None], strict=True):
        assert len(numbers) == 8 * (6 if kind == "curvature" else 3)
        if kind == "score":
            assert (version, records) != (0, batch)
        elif after is not None and after[2] == "score":
            assert after[1:5] == (version + 1, "score", records, batch)
            assert msgspec.json.decode(belief, type=StoredBelief).look == records


@pytest.mark.parametrize("stop", [0, 1, 11, 12, 13, 40, 61])
def test_a_restart_in_the_middle_of_a_batch_changes_nothing(stop: int) -> None:
    with same_noise():
        expected = fed(ProductLearner(spec()), SLOTS)
    with same_noise():
        first = ProductLearner(spec())
        made = fed(first, SLOTS[:stop])
        second = ProductLearner(spec())
        second.restore(first.state())
        assert second.state() == first.state()
        assert made + fed(second, SLOTS[stop:]) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"counts": False},
        {"context": None, "demand": None, "counts": False},
        {"context": None, "demand": None},
        {"context": b"short"},
        {"context": np.array([np.nan, 0.0]).tobytes()},
        {"demand": float("inf")},
    ],
    ids=["over cap", "deleted", "tombstone", "too short", "no number", "no demand"],
)
def test_a_slot_that_does_not_count_keeps_its_place_and_adds_nothing(change: dict[str, Any]) -> None:
    def releases(*changed: Slot) -> list[Any]:
        learner = ProductLearner(spec())
        with same_noise():
            return fed(learner, [*SLOTS[:21], *changed, *SLOTS[22:40]])

    engine = ProductLearner(spec())
    with same_noise():
        expected = fed(engine, SLOTS[:21])
        assert engine._engine is not None
        assert engine._engine.skip() == ()
        engine.learned += 1
        expected += fed(engine, SLOTS[22:40])
    made = releases(slot(21, **change))
    assert made == expected
    assert made != releases(SLOTS[21])


def test_no_outcome_is_no_purchase() -> None:
    with same_noise():
        silent = fed(ProductLearner(spec()), [slot(n, demand=None) for n in range(40)])
    with same_noise():
        assert silent == fed(ProductLearner(spec()), [slot(n, demand=0.0) for n in range(40)])


def test_after_the_horizon_slots_are_counted_and_not_read_and_unreleased_sums_are_gone() -> None:
    body = spec(horizon=46)
    learner, longer = ProductLearner(body), ProductLearner(spec())
    with same_noise():
        made = fed(learner, SLOTS[:60])
    with same_noise():
        assert made == [each for each in fed(longer, SLOTS) if each[3] <= 46]
    assert made[-1][3] < 46  # a batch was at hand
    assert (learner.learned, learner.learning, learner.next_release) == (60, False, None)
    saved = unpack(learner.state().state)
    assert saved.engine is None
    assert learner.learn([slot(60, context=b"nothing like a record")], 1.0) == 1
    again = ProductLearner(body)
    again.restore(learner.state())
    assert (again.learned, again.learning, again.sequence, again.version) == (61, False, len(made), made[-1][1])
    assert again.state() == learner.state()


def test_the_last_slot_of_the_horizon_is_learned_and_may_end_a_batch() -> None:
    with same_noise():
        ends = [each[3] for each in fed(ProductLearner(spec()), SLOTS) if each[2] == "score"]
    learner = ProductLearner(spec(horizon=ends[1]))
    with same_noise():
        assert fed(learner, SLOTS)[-1][3] == ends[1]
    assert learner.version == 2
    assert not learner.learning


def test_a_product_at_a_fixed_price_learns_nothing_and_pays_nothing() -> None:
    learner = ProductLearner(spec(policy="fixed"))
    assert fed(learner, SLOTS) == []
    assert (learner.learned, learner.ledger, learner.version) == (COUNT, None, 0)
    assert msgspec.json.decode(learner.state().ledger)["spent"] == []


def test_slots_come_in_order_and_once() -> None:
    learner = ProductLearner(spec())
    for slots in ([SLOTS[1]], [SLOTS[0], SLOTS[2]], [SLOTS[0], SLOTS[0]]):
        with pytest.raises(InvalidInput, match=r"slot [12] must come next"):
            learner.learn(slots, 1.0)
    assert learner.learned == 0


def test_a_jump_drops_the_batch_at_hand_and_keeps_the_belief() -> None:
    learner = ProductLearner(spec())
    fed(learner, SLOTS[:30])
    before, sequence = belief_of(learner._engine.quoter), learner.sequence  # type: ignore[union-attr]
    learner.jump(SeenRelease("tea", sequence + 4, 45))
    after = belief_of(learner._engine.quoter)  # type: ignore[union-attr]
    assert (after.theta, after.version, after.batch) == (before.theta, before.version, 45)
    assert (learner.learned, learner.sequence) == (45, sequence + 4)
    fresh = ProductLearner(spec())
    fresh.restore(learner.state())
    with same_noise():
        made = fed(learner, SLOTS[45:])
    assert made[0][0] == sequence + 5
    assert made[0][4] == 45
    with same_noise():
        assert fed(fresh, SLOTS[45:]) == made


def test_a_jump_before_anything_was_learned_and_past_the_horizon() -> None:
    learner = ProductLearner(spec())
    learner.jump(SeenRelease("tea", 3, 20))
    again = ProductLearner(spec())
    again.restore(learner.state())
    assert (again.learned, again.sequence, again.version) == (20, 3, 0)
    again.jump(SeenRelease("tea", 9, 5000))
    assert not again.learning
    assert again.learned == 5000
    again.jump(SeenRelease("tea", 12, 6000))
    assert (again.learned, again.sequence) == (6000, 12)


def test_a_jump_waits_for_a_commit() -> None:
    learner = ProductLearner(spec())
    learner.learn(SLOTS, 1.0)
    with pytest.raises(InvalidInput, match="cannot jump"):
        learner.jump(SeenRelease("tea", 90, 90))


def test_a_seed_is_refused_outside_simulation() -> None:
    with pytest.raises(InvalidInput, match="is refused outside simulation"):
        ProductLearner(spec(), source=Tape(1, 1))


def test_records_outside_their_bounds_are_counted_for_the_operator_and_the_counts_survive() -> None:
    learner = ProductLearner(spec(horizon=30))
    fed(
        learner, [slot(n, demand=7.0 if n < 3 else 1.0, context=b"" if n == 5 else SLOTS[n].context) for n in range(10)]
    )
    assert learner.clipped == Clipped(features=0, demands=3, unreadable=1)
    again = ProductLearner(spec(horizon=30))
    again.restore(learner.state())
    assert again.clipped == learner.clipped
    fed(again, SLOTS[10:])
    assert again.clipped == learner.clipped


def test_nothing_sensitive_is_shown() -> None:
    learner = ProductLearner(spec())
    fed(learner, SLOTS[:5])
    saved = unpack(learner.state().state)
    assert repr(learner) == "ProductLearner('tea', <sensitive>)"
    assert [repr(saved), repr(saved.engine)] == ["SavedLearner(<sensitive>)", "EngineState(<sensitive>)"]
    assert saved.engine is not None
    assert saved.engine.__rich_repr__() == []


def stored() -> LearnerState:
    learner = ProductLearner(spec())
    fed(learner, SLOTS[:30])
    return learner.state()


def test_a_state_that_a_learner_could_not_have_written_is_refused() -> None:
    good = stored()
    head, _, body = good.state.partition(b"\n")
    whole = unpack(good.state)
    assert whole.engine is not None
    other = msgspec.structs.replace

    def forged(change: dict[str, Any], engine: dict[str, Any] | None = None) -> bytes:
        inner = whole.engine if engine is None else other(whole.engine, **engine)
        return pack(other(whole, **{"engine": inner} | change))

    def packed(body: bytes) -> bytes:
        return f"hushprice learner {learner_state.FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body

    bad = [
        b"",
        body,
        head + b"\n" + body[:-1],
        head.replace(b"learner 3", b"learner 2") + b"\n" + body,  # its noise, and so its grid, were others
        packed(b"\x80"),
        packed(b"no MessagePack"),
        forged({"learned": 29}),
        forged({"sequence": 0}),
        forged({"version": 10**6}),
        forged({"product": b"another"}),
        forged({"engine": None}),
        forged({}, {"learned": 29}),
        forged({}, {"version": 0}),
        forged({}, {"look": 10**6}),
        forged({}, {"batch": b""}),
    ]
    for state in bad:
        with pytest.raises(InvalidInput, match=r"stored|saved"):
            ProductLearner(spec()).restore(other(good, state=state))
    for change in ({"learned": 31}, {"sequence": 99}, {"product": "coffee"}):
        with pytest.raises(InvalidInput, match="does not fit"):
            ProductLearner(spec()).restore(other(good, **change))
    with pytest.raises(InvalidInput, match="does not fit"):
        ProductLearner(spec(epsilon=1.0)).restore(good)
    ProductLearner(spec()).restore(good)
