"""The default policy in a simulated shop: its two sides, a stretch of customers at a time."""

from __future__ import annotations

import numpy as np

from hushprice.noise import Tape
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter, first_rule
from hushprice.policies.cautious.pricing.shop_model import model_of
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.private.reports import ReportLearner
from hushprice.policies.cautious.rules import CENTRAL, CautiousRules, cautious
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.delta import parse_delta
from hushprice.product import Product
from hushprice.types import BoolArray, FloatArray


class PrivateStrategy:
    """Policy cautious, under any trust model. Every outcome is known before the next stretch."""

    def __init__(
        self, product: Product, horizon: int, noise: bool, rng: np.random.Generator, trust: str = CENTRAL
    ) -> None:
        rules = rules_of(product, horizon, noise, trust)
        self._product = product
        self._rng = rng
        self.quoter = CautiousQuoter(rules, first_rule(rules))  # which takes a while to find, and all trials share
        source = Tape(int(rng.integers(2**62)), 0)
        rule = self.quoter.rule
        self.learner = (
            CautiousLearner(rules=rules, source=source, choice=rule.choice)
            if rules.bits is None
            else ReportLearner(rules=rules, source=source, choice=rule.choice, slots=rule.count, rng=rng)
        )
        self._coins: FloatArray = np.empty(0)
        self._apart: BoolArray = np.empty(0, dtype=bool)

    @property
    def due(self) -> int:
        return self.quoter.end - self.learner.count

    def prices(self, contexts: FloatArray) -> FloatArray:
        self._coins = np.where(self._rng.random(len(contexts)) < 0.5, -1.0, 1.0)
        apart = self._rng.random(len(contexts)) if self._product.holdout > 0.0 else np.ones(len(contexts))
        self._apart = apart < self._product.holdout
        relative = np.where(self._apart, 0.0, self.quoter.relative_prices(contexts, self._coins))
        prices = self._product.reference_price + self._product.reach * relative
        return np.clip(prices, self._product.cheapest, self._product.dearest)  # its last digit may be beyond them

    def learn(self, contexts: FloatArray, prices: FloatArray, sales: FloatArray) -> None:
        relative = (prices - self._product.reference_price) / self._product.reach
        self.learner.absorb(contexts, relative, self._coins, sales, self.quoter.belief.theta, holdout=self._apart)
        if self.learner.count == self.quoter.end:
            self.quoter.accept(self.learner.release())
            self.learner.begin(self.quoter.rule.choice)
            if isinstance(self.learner, ReportLearner):
                self.learner.expect(self.quoter.rule.count)


def rules_of(product: Product, horizon: int, noise: bool, trust: str) -> CautiousRules:
    """The rules for a product, refused where they cannot be had."""
    return cautious(
        EpsilonDelta(product.epsilon, parse_delta(product.delta, horizon)),
        model=model_of(product),
        risk=product.risk,
        horizon=horizon,
        holdout=product.holdout,
        drawn=noise,
        response_doubt=product.response_doubt,
        prior=product.prior_here,
        trust=trust,
    )
