"""What a product that starts from a fit must state: at least what a second formula makes of both."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.policies.cautious.product_runs import PRODUCT, opened
from tests.priors import CLAIMED, MU, prior_for

from hushprice.policies.cautious.noise import DESCRIPTION_SHARE
from hushprice.privacy import gaussian


def budgets_add_up() -> None:
    """Oracle: what has an epsilon at delta 0 adds to what the fit, which is Gaussian, costs; the claim is the sum."""
    ledger = opened(replace(PRODUCT, prior=prior_for(PRODUCT)), horizon=1000).ledger
    assert ledger.claimed is not None
    assert ledger.proven is not None
    assert ledger.claimed.epsilon >= PRODUCT.epsilon + CLAIMED.epsilon
    described = gaussian.mu_of(DESCRIPTION_SHARE * PRODUCT.epsilon, 1e-6)  # which the noise is calibrated to
    bounded = (1.0 - DESCRIPTION_SHARE) * PRODUCT.epsilon
    together = bounded + gaussian.epsilon_of(ledger.claimed.delta, math.hypot(described, MU))
    assert ledger.proven.epsilon >= together * (1.0 - 1e-4)
