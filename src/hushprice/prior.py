"""What a private fit of a log says about demand: a first belief for a product, with what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from hushprice.privacy.budget import EpsilonDelta


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """N(theta, covariance) in the numbers of policies/cautious/pricing/shop_model.py, noise of the fit counted in."""

    theta: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    level: float  # of the product's model that theta is relative to: log-odds at today's price,
    response: float  # what they fall over one reach,
    reference_price: float
    reach: float
    claimed: EpsilonDelta  # what the fit cost whoever is in the log
    fit: str  # digest of the file it was read from
    same_people: bool = True  # may who is in the log also be a customer? Then budgets add up
