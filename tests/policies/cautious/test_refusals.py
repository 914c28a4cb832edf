"""What policy cautious refuses, and what it makes of a batch that priced nobody."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.policies.cautious.moment_runs import CLAIMED, Silent, learner, rules
from tests.policies.cautious.shops_at_hand import MODEL, PEOPLE, released, rule

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.health import Health
from hushprice.policies.cautious.pricing.holdout import Group
from hushprice.policies.cautious.rules import cautious


@pytest.mark.parametrize("level", [-14.0, 14.0])
def test_a_conversion_that_nobody_or_everybody_has_is_refused(level: float) -> None:
    model = replace(rules().model, level=level)
    with pytest.raises(InvalidInput, match=r"^conversion must lie between 0.000001 and 0.999999, got"):
        cautious(CLAIMED, model=model, risk=0.02, horizon=1000)


def test_a_saved_batch_of_another_product_is_refused() -> None:
    other = learner(contexts=3, source=Silent()).batch.state()
    with pytest.raises(InvalidInput, match=r"^the saved batch is for another product$"):
        learner(contexts=2, source=Silent()).batch.restore(other)


def test_a_batch_that_was_frozen_all_along_tells_nothing() -> None:
    batch = replace(released(rule(), np.zeros(6), np.zeros(6)), rule=rule(count=0))
    assert Health().after_score(MODEL, PEOPLE, batch) == Health(batches=1)


def test_what_a_group_earned_is_known_up_to_noise_and_sampling() -> None:
    assert Group(earned=16.0, noise=9.0).deviation == 5.0
