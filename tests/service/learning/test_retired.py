"""Learning of a retired product: what was quoted is learned, the unfinished batch is erased, nothing comes after."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.service.learning_runs import WINDOW, Shop, spec

from hushprice.errors import InvalidInput
from hushprice.policies.verification import verify
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.service.learning.learner_state import unpack
from hushprice.service.learning.product_learner import ProductLearner

pytestmark = pytest.mark.usefixtures("blocks")


def test_slots_given_before_are_learned_and_then_learning_ends(shop: Shop) -> None:
    learning = shop.learning(chunk=7)
    shop.serve(stop=20)
    shop.store.retire("tea", shop.time)
    learning.turn()
    state = shop.store.state("tea")
    assert state is None or not state.ended  # the last deadlines have not passed
    shop.wait(WINDOW)
    for _ in range(5):
        learning.turn()
    state = shop.store.state("tea")
    assert state is not None
    assert (state.learned, state.ended) == (20, True)
    assert unpack(state.state).engine is None  # the sums of the unfinished batch are erased
    assert unpack(state.state).retired
    released = shop.releases()
    shop.serve(20, 40)  # by a quoter that had not looked
    shop.wait(WINDOW)
    shop.learning().turn()
    while learning.turn():
        pass
    assert (shop.learned(), shop.releases()) == (40, released)
    assert shop.store.products_to_learn() == []


def test_the_certificate_says_that_it_was_retired(shop: Shop) -> None:
    shop.store.retire("tea", shop.time)
    shop.learning(signing_key=Ed25519PrivateKey.generate()).turn()
    body = shop.store.certificate("tea")
    assert body is not None
    verify(Certificate.parse(body))
    assert b'"retire"' in body


def test_a_fixed_price_that_is_retired_is_done_with(tmp_path: Path) -> None:
    shop = Shop(tmp_path, spec(policy="fixed"))
    shop.store.retire("tea", shop.time)
    shop.learning().turn()
    assert shop.store.products_to_learn() == []
    shop.close()


def test_a_learner_with_a_release_in_hand_does_not_end(shop: Shop) -> None:
    shop.serve(stop=30)
    shop.wait(WINDOW)
    learner = ProductLearner(spec())
    slots = shop.store.due("tea", 0, 30)
    while not learner.pending:
        learner.learn(slots[learner.learned :], shop.time)
    with pytest.raises(InvalidInput, match="cannot end"):
        learner.retire()
