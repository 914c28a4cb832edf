"""A small shop, its customers, and batches of it as they would be released without noise."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from hushprice.policies.cautious.pricing.belief import ReleasedBatch, Rule, score_model
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.types import FloatArray

MODEL = ShopModel(contexts=2, margin=5.0, level=-1.0, response=0.3, lowest=-1.0, highest=1.0)
ALONE = ShopModel(contexts=0, margin=5.0, level=-1.0, response=0.3, lowest=-1.0, highest=1.0)
PEOPLE = np.random.default_rng(3).uniform(-1.0, 1.0, (60, 2))
NOBODY = np.zeros((60, 0))


def rule(count: int = 1000, move: float = 0.0, spread: float = 0.5, choice: int = 1) -> Rule:
    return Rule(count=count, move=move, spread=spread, choice=choice)


def released(
    given: Rule, priced_by: FloatArray, truth: FloatArray, noise: float = 1.0, model: ShopModel = MODEL
) -> ReleasedBatch:
    """A batch whose score is exactly what the truth makes it on average."""
    people = PEOPLE if model.contexts else NOBODY
    score = score_model(model, people, given, priced_by, truth, count=given.count).expected
    return ReleasedBatch(rule=given, theta=priced_by, score=score, noise=np.full(score.size, noise))


def chance(theta: FloatArray, x: FloatArray, z: float) -> float:
    """The chance of a purchase, written out."""
    row = np.concatenate([[1.0], x])
    half = row.size
    return float(expit(MODEL.level + row @ theta[:half] - (MODEL.response + row @ theta[half:]) * z))
