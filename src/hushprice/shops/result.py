"""What trials in a simulated shop found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushprice import extras
from hushprice.errors import InvalidInput
from hushprice.privacy.budget import EpsilonDelta
from hushprice.settings import TRUST
from hushprice.types import FloatArray, IntArray

if TYPE_CHECKING:
    import polars

PROMISED = 1000  # customers, after whom `risk` is promised


@dataclass(frozen=True, kw_only=True, eq=False)
class ShopResult:
    """Earnings are expected ones, so they hold no luck of single purchases; rows are trials.

    Staying is what today's price would have earned from the very same customers.
    """

    policy: str
    horizon: int
    seed: int
    checkpoints: IntArray  # customers so far
    earnings: FloatArray  # (trials, checkpoints), cumulative
    staying: FloatArray  # the same at today's price
    prices: FloatArray | None  # (trials, horizon), where they were kept
    claimed: EpsilonDelta | None = None  # None: not private
    trust: str = TRUST[0]  # who may see a record
    seconds: float = 0.0

    @property
    def trials(self) -> int:
        return len(self.earnings)

    @property
    def shares(self) -> FloatArray:
        """Earnings as a share of staying, (trials, checkpoints)."""
        if not (self.staying > 0.0).all():
            raise InvalidInput("world.probabilities must be above 0 at reference_price: staying earned nothing")
        return np.asarray(self.earnings / self.staying)

    @property
    def gain(self) -> float:
        """Mean earnings over all customers as a share of staying: 1.02 is 2 % more."""
        return float(np.mean(self.shares[:, -1]))

    @property
    def gain_error(self) -> float | None:
        """The standard error of `gain`; None for a single trial."""
        return float(self.shares[:, -1].std(ddof=1) / math.sqrt(self.trials)) if self.trials > 1 else None

    def worst(self, after: int = PROMISED) -> float:
        """The least share of staying that any trial had earned at a checkpoint at or after `after` customers."""
        return float(np.min(self.shares[:, self.checkpoints >= min(after, self.horizon)]))

    def to_dict(self, checkpoints: int = 10) -> dict[str, Any]:
        """The machine interface of `hushprice simulate --product ... --format json`."""
        shares = self.shares
        return {
            "policy": self.policy,
            "horizon": self.horizon,
            "trials": self.trials,
            "seed": self.seed,
            "gain": {"mean": self.gain, "standard_error": self.gain_error},
            "worst": self.worst(),
            "checkpoints": [
                {
                    "customers": int(self.checkpoints[at]),
                    "earnings": float(self.earnings[:, at].mean()),
                    "staying": float(self.staying[:, at].mean()),
                    "share": float(shares[:, at].mean()),
                    "worst_share": float(shares[:, at].min()),
                }
                for at in self.spaced(checkpoints)
            ],
            "trust": self.trust,
            "claimed": None if self.claimed is None else {"epsilon": self.claimed.epsilon, "delta": self.claimed.delta},
            "seconds": self.seconds,
            "periods_per_second": self.trials * self.horizon / max(self.seconds, 1e-9),
        }

    def spaced(self, count: int) -> list[int]:
        """The places of about that many checkpoints, evenly spaced, the last among them."""
        kept = np.ceil(np.arange(1, count + 1) * (len(self.checkpoints) / count)).astype(np.int64) - 1
        return [int(at) for at in np.unique(kept)]

    def frame(self) -> polars.DataFrame:
        """One row a trial and checkpoint."""
        extras.require("polars")
        import polars

        each = len(self.checkpoints)
        return polars.DataFrame(
            {
                "policy": [self.policy] * (self.trials * each),
                "seed": [self.seed] * (self.trials * each),
                "trial": np.repeat(np.arange(self.trials), each),
                "customers": np.tile(self.checkpoints, self.trials),
                "earnings": self.earnings.ravel(),
                "staying": self.staying.ravel(),
            }
        )
