"""What a simulation found: one row a trial, regret over time, and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hushprice import extras
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.types import FloatArray, IntArray

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Mean:
    """An average over trials and its standard error (None for a single trial)."""

    mean: float | None
    standard_error: float | None

    @classmethod
    def of(cls, values: FloatArray) -> Mean:
        if not np.all(np.isfinite(values)):
            return cls(None, None)
        error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else None
        return cls(float(values.mean()), error)

    def to_dict(self) -> dict[str, float | None]:
        return {"mean": self.mean, "standard_error": self.standard_error}


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulationResult:
    """Trials of one policy on one market. Averages are per period; revenue and surplus are expected given the price."""

    policy: str
    calibration: str | None
    market: str
    horizon: int
    dimension: int
    seed: int
    regret: FloatArray  # (trials,) average regret
    revenue: FloatArray
    surplus: FloatArray  # NaN where the family has no utility model
    estimates: IntArray
    indefinite: IntArray  # periods whose released covariance was indefinite
    checkpoints: IntArray  # periods
    cumulative_regret: FloatArray  # (trials, checkpoints)
    estimate_periods: tuple[IntArray, ...]
    adjacency: Adjacency
    claimed: EpsilonDelta | None
    proven: EpsilonDelta | None
    seconds: float
    start: FloatArray | None = None  # (trials,) the part of regret from before the first learned price; noisy-newton
    hindsight: bool = False  # the best fixed price, which no shop could have known
    prices: FloatArray | None = None  # (trials, horizon) when kept
    device: str = "cpu"
    precision: str = "double"

    @property
    def trials(self) -> int:
        return int(self.regret.size)

    @property
    def label(self) -> str:
        """The policy's name as tables and pictures show it."""
        note = "best in hindsight" if self.hindsight else self.calibration
        return f"{self.policy} ({note})" if note else self.policy

    @property
    def average_regret(self) -> Mean:
        return Mean.of(self.regret)

    @property
    def start_regret(self) -> Mean | None:
        """The part of average regret from before the first learned price; None for policies that do not tell."""
        return None if self.start is None else Mean.of(self.start)

    @property
    def average_revenue(self) -> Mean:
        return Mean.of(self.revenue)

    @property
    def average_surplus(self) -> Mean:
        return Mean.of(self.surplus)

    @property
    def periods_per_second(self) -> float:
        return self.trials * self.horizon / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice simulate --format json`; off the CPU it also says where it was run."""
        chosen = {} if self.device == "cpu" else {"device": self.device, "precision": self.precision}
        return {
            "policy": self.policy,
            "calibration": self.calibration,
            "horizon": self.horizon,
            "dimension": self.dimension,
            "trials": self.trials,
            "seed": self.seed,
            "average_regret": self.average_regret.to_dict(),
            "average_revenue": self.average_revenue.to_dict(),
            "average_surplus": self.average_surplus.to_dict(),
            "privacy": {
                "adjacency": self.adjacency.value,
                "claimed": _pair(self.claimed),
                "proven": _pair(self.proven),
            },
            "estimates": {"mean": float(self.estimates.mean())},
            "seconds": self.seconds,
            "periods_per_second": self.periods_per_second,
            **chosen,
        }

    def frame(self) -> polars.DataFrame:
        """One row a trial."""
        extras.require("polars")
        import polars

        return polars.DataFrame(
            {
                "policy": [self.policy] * self.trials,
                "calibration": polars.Series([self.calibration] * self.trials, dtype=polars.String),
                "market": [self.market] * self.trials,
                "horizon": [self.horizon] * self.trials,
                "dimension": [self.dimension] * self.trials,
                "seed": [self.seed] * self.trials,
                "trial": np.arange(self.trials),
                "average_regret": self.regret,
                "start_regret": polars.Series(
                    [None] * self.trials if self.start is None else self.start, dtype=polars.Float64
                ),
                "average_revenue": self.revenue,
                "average_surplus": polars.Series(self.surplus).fill_nan(None),
                "estimates": self.estimates,
                "indefinite": self.indefinite,
            }
        )

    def regret_over_time(self) -> polars.DataFrame:
        """Cumulative regret at the checkpoints: mean and standard error over trials."""
        extras.require("polars")
        import polars

        means = [Mean.of(column) for column in self.cumulative_regret.T]
        return polars.DataFrame(
            {
                "period": self.checkpoints,
                "regret": [each.mean for each in means],
                "standard_error": polars.Series([each.standard_error for each in means], dtype=polars.Float64),
            }
        )

    def write(self, path: str | Path) -> None:
        """The frame as Parquet, in one piece or not at all."""
        from hushprice.simulation.atomic_file import write_parquet

        write_parquet(self.frame(), Path(path))

    def plot(self) -> Figure:
        """Average regret over time."""
        from hushprice.simulation.drawing import regret_picture

        return regret_picture([self], title=f"{self.label} on {self.market}")


def _pair(value: EpsilonDelta | None) -> dict[str, float] | None:
    return None if value is None else {"epsilon": value.epsilon, "delta": value.delta}
