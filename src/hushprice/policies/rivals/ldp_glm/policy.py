"""How much noise a budget buys, as published and tight, and the policy made of it."""

from __future__ import annotations

import functools
import math

import numpy as np

from hushprice import checks
from hushprice.numerics.linear import packed_size
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.sums import reports
from hushprice.policies.rival_parts.rival_policy import Asked, RivalPolicy, guarded
from hushprice.policies.rival_parts.stretches import Stretched
from hushprice.policies.rivals.ldp_glm.pricing import ReportedBelief
from hushprice.policies.rivals.ldp_glm.private import APART, PARTS, report_rows
from hushprice.privacy import gaussian
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import GaussianSums
from hushprice.types import FloatArray

READS: dict[str, tuple[str, ...]] = {"ldp-glm": ("calibration",)}
CALIBRATIONS = ("published", "tight")
_MARGIN = 1e-8  # of epsilon, left over so that another machine's last digits never make a sound policy pass its claim


def published(claimed: EpsilonDelta) -> float:
    """s = 6 sqrt(2 ln(3.75/delta))/epsilon on every part: the Gaussian mechanism at a third of the budget each."""
    return 6.0 * math.sqrt(2.0 * math.log(3.75 / claimed.delta)) / claimed.epsilon


def tight(claimed: EpsilonDelta) -> float:
    """The least noise for the three parts together."""
    return APART / gaussian.mu_of(claimed.epsilon * (1.0 - _MARGIN), claimed.delta) * (1.0 + _MARGIN)


class LocalGlm(Stretched):
    """Both sides in one trial. Devices see the descent's theta of the last stretch, and send one report each."""

    def __init__(
        self,
        frame: Frame,
        rng: np.random.Generator,
        source: Source | None = None,
        *,
        event: GaussianSums | None,
        sharp: bool,
    ) -> None:
        super().__init__()
        self._frame, self._source, self._event = frame, source or rng, event
        noise = 0.0 if event is None else event.noise * math.sqrt(PARTS)
        self.belief, self._sent = ReportedBelief(frame, noise, sharp=sharp), list[FloatArray]()

    def prices(self, customers: Customers) -> FloatArray:
        return self.belief.prices(customers)

    def take(self, customers: Customers, prices: FloatArray, demands: FloatArray) -> None:
        frame, belief = self._frame, self.belief
        psi = customers.features(prices) / frame.length
        rows = report_rows(psi, frame.offset(prices), demands, belief.theta, belief.ball)
        self._sent.append(reports(rows, self._event, self._source))

    def refit(self) -> None:
        self.belief.accept(np.concatenate(self._sent))
        self._sent = []


def rival(asked: Asked, frame: Frame) -> RivalPolicy:
    """The policy for a frame."""
    checks.one_of(CALIBRATIONS, calibration=asked.calibration)
    sharp = asked.calibration == "tight"
    event = None
    if asked.drawn:
        event = GaussianSums(
            rounds=1,
            noise=(tight if sharp else published)(asked.buys) / math.sqrt(PARTS),
            apart=APART / math.sqrt(PARTS),
            entries=packed_size(frame.dimension) + 2 * frame.dimension,
            live=asked.live,
        )
    begin = functools.partial(LocalGlm, event=event, sharp=sharp)
    return guarded(asked, frame, begin, event, claimed=asked.claimed, reported=True, calibration=asked.calibration)
