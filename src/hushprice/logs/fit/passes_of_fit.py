"""The passes of a fit: descriptions, then scores, each planned by the releases before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hushprice.logs.fit.description import DescriptionPlan, Moments, plan_description, read_again, read_first
from hushprice.logs.fit.fit_estimate import ReleasedScore, estimated
from hushprice.logs.fit.fit_noise import FitNoise
from hushprice.logs.fit.likeness import Likeness, likeness_of
from hushprice.logs.fit.score_plan import ScorePlan, plan_score
from hushprice.logs.fit.whole_sums import Adding
from hushprice.policies.cautious.pricing.belief import Belief, first_belief
from hushprice.policies.cautious.pricing.shop_model import ShopModel, model_of
from hushprice.policies.cautious.rules import ATTRIBUTES, LEVEL, PERSONAL, RESPONSE
from hushprice.product import Product
from hushprice.types import FloatArray

WIDER = 1.5  # times policy cautious' first doubt about level and response: a log comes before any price rests on it
Plan = DescriptionPlan | ScorePlan
Releaser = Callable[[Adding, int, float, int], FloatArray]  # what is added, how many numbers, noise, number of the pass


def first_deviations(product: Product) -> FloatArray:
    """Of the first belief: the shop is right, give or take."""
    doubt = RESPONSE if product.response_doubt is None else product.response_doubt
    half = np.full(product.contexts, ATTRIBUTES), np.full(product.contexts, PERSONAL * product.response)
    return np.concatenate([[WIDER * LEVEL], half[0], [WIDER * doubt * product.response], half[1]])


class FitState:
    """What the releases so far say. Public: it sees no row."""

    def __init__(self, product: Product, noise: FitNoise, known: int | None = None) -> None:
        self.model: ShopModel = model_of(product)
        self.noise = noise
        self.known = known  # units of the log, where that is public
        self.deviations = first_deviations(product)
        self.belief: Belief = first_belief(self.deviations)
        self.scores: list[ReleasedScore] = []
        self.described = 0  # descriptions so far
        self.moments: Moments | None = None
        self.likeness: Likeness | None = None

    @property
    def done(self) -> int:
        """Passes whose release is in."""
        return self.described + len(self.scores)

    @property
    def passes(self) -> int:
        """Of the whole fit."""
        return len(self.noise.event.releases)

    def next_size(self) -> int:
        """Numbers in the next pass's release."""
        return self.noise.event.releases[self.done][0]

    def next_noise(self) -> float:
        """The deviation of the next pass's release."""
        return self.noise.event.releases[self.done][1]

    def next_plan(self) -> Plan | None:
        """What the next pass adds up; None: descriptions of rows as they are."""
        if self.moments is None:
            return None
        if self.likeness is None:
            return plan_description(self.moments, self.next_noise())
        return plan_score(
            model=self.model,
            moments=self.moments,
            likeness=self.likeness,
            theta=self.belief.theta,
            covariance=self.belief.covariance,
            noise=self.next_noise(),
        )

    def take(self, released: FloatArray, plan: Plan | None) -> None:
        """One more release, of the plan that `next_plan` gave."""
        if not isinstance(plan, ScorePlan) or self.likeness is None:
            noise, contexts = self.next_noise(), self.model.contexts
            if isinstance(plan, DescriptionPlan) and self.moments is not None:
                self.moments = read_again(released, self.moments, plan, noise)
            else:
                self.moments = read_first(released, contexts, noise, self.known)
            self.described += 1
            if self.described == len(self.noise.event.description_noise):
                self.likeness = likeness_of(self.moments)
            return
        scale = 1.0 + plan.largest
        self.scores.append(ReleasedScore(plan, released * scale, self.next_noise() * scale))
        self.belief = estimated(self.model, self.likeness, self.scores, self.deviations, self.belief.theta)


def played(
    product: Product,
    noise: FitNoise,
    release: Releaser,
    *,
    known: int | None = None,
    before: Sequence[FloatArray] = (),
    keep: Callable[[FloatArray], None] = lambda released: None,
) -> FitState:
    """The fit. Releases `before` are taken as they are; `keep` makes each new one durable before anything uses it."""
    state = FitState(product, noise, known)
    for number in range(state.passes):
        plan = state.next_plan()
        if number < len(before):
            released = before[number]
        else:
            released = release(Adding(noise.event.rows, plan), state.next_size(), state.next_noise(), number)
            keep(released)
        state.take(released, plan)
    return state
