"""What a policy is asked for: one frozen value that every entrance makes and hands on.

`open_pricer`, `simulate`, sweeps and the command line take these by keyword. What is given, other than its default, and
the policy does not read is refused (policies/catalog.py).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypedDict

from hushprice import checks
from hushprice.privacy.adjacency import Adjacency, adjacency_of
from hushprice.privacy.budget import PrivacyBudget, split
from hushprice.privacy.delta import parse_delta
from hushprice.product import Product

DEFAULT_POLICY = "noisy-newton"
PRODUCT_POLICY = "cautious"  # the default where a product is given
TRUST = ("central", "local", "shuffle", "aggregated")  # whom a customer has to trust: docs/guide/trust.md
PRODUCT_HORIZON = 1_000_000  # customers of a product that are learned from, where nothing else is said


def doubt_of(trust: str, contexts: int) -> str:
    """What to think over where devices are asked for attributes; nothing to say elsewhere (docs/lab/trust.md)."""
    if trust not in ("local", "shuffle") or contexts == 0:
        return ""
    return "risk may be passed where trust is local or shuffle and there are attributes: better leave these out"


@dataclass(frozen=True, kw_only=True)
class PolicySettings:
    """A policy by name, its budget, and what else it may be told before the first customer.

    Every policy may be given the budget (epsilon, delta, adjacency), so that several can be compared under one.

    >>> PolicySettings(horizon=100_000, epsilon=0.2).budget.total
    EpsilonDelta(epsilon=0.2, delta=2e-10)
    """

    policy: str = DEFAULT_POLICY
    horizon: int
    epsilon: float | None = None  # in all; 1 unless it or both of its shares are given
    delta: float | str = "2/T^2"  # in all: a number, or a formula in the horizon
    epsilon_covariance: float | None = None
    epsilon_estimate: float | None = None
    adjacency: str = Adjacency.REPLACE_ONE.value
    calibration: str = "tight"  # paper: how noise follows from the budget
    price: float | None = None  # fixed: without it, the best one in hindsight
    exploration_periods: int | None = None  # the paper's T0, rho, gamma and D_inf
    ridge: float | None = None
    width: float | None = None
    max_estimates: int | None = None
    reference_price: float | None = None  # noisy-newton: quoted before anything is known
    trigger: bool = True  # noisy-newton's parts, turned off for study
    bonus: bool = True
    noise: bool = True
    unit_cost: float = 0.0  # noisy-newton: a share of the highest price
    product: Product | None = None  # cautious: what a shop knows
    trust: str = TRUST[0]  # cautious: who may see a record

    def __post_init__(self) -> None:
        checks.whole(1, horizon=self.horizon)
        checks.one_of(TRUST, trust=self.trust)

    @property
    def budget(self) -> PrivacyBudget:
        """The budget and its two shares."""
        both = self.epsilon_covariance is not None and self.epsilon_estimate is not None
        return split(
            1.0 if self.epsilon is None and not both else self.epsilon,
            parse_delta(self.delta, self.horizon),
            epsilon_covariance=self.epsilon_covariance,
            epsilon_estimate=self.epsilon_estimate,
        )

    @property
    def neighbours(self) -> Adjacency:
        """What one changed record means."""
        return adjacency_of(self.adjacency)

    @property
    def given(self) -> dict[str, Any]:
        """What only some policies read, as far as it was given."""
        return {name: getattr(self, name) for name in OPTIONS if getattr(self, name) != _DEFAULTS[name]}


class Settings(TypedDict, total=False):
    """The fields of PolicySettings besides `policy` and `horizon`, as keywords of the functions that pass them on."""

    epsilon: float | None
    delta: float | str
    epsilon_covariance: float | None
    epsilon_estimate: float | None
    adjacency: str
    calibration: str
    price: float | None
    exploration_periods: int | None
    ridge: float | None
    width: float | None
    max_estimates: int | None
    reference_price: float | None
    trigger: bool
    bonus: bool
    noise: bool
    unit_cost: float
    trust: str


BUDGET = ("epsilon", "delta", "epsilon_covariance", "epsilon_estimate", "adjacency")
OPTIONS = (*(name for name in Settings.__annotations__ if name not in BUDGET), "product")
_DEFAULTS = {field.name: field.default for field in fields(PolicySettings)}
