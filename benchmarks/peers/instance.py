"""The paper's instance as arrays: the same customers and the same luck for every method. Needs NumPy alone.

A customer of context x has utility slope (a + b p) + logistic noise for price p in [0, 1] and buys when it is positive;
`uniforms` holds the noise as a uniform. `export.py` writes such a file from hushprice's own random tape.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

GRID = 20  # prices 1/20, ..., 1; a clairvoyant held to them loses about 0.6e-4, far less than any peer


@dataclass(frozen=True, kw_only=True, eq=False)
class Instance:
    """Some trials of one market. Arrays have a row a trial and a column a period."""

    slope: float  # zeta
    contexts: np.ndarray  # (trials, horizon, k), in [-1, 1]
    uniforms: np.ndarray  # (trials, horizon): the customer's taste
    a: np.ndarray  # (trials, horizon)
    b: np.ndarray  # (trials, horizon), below zero
    best_prices: np.ndarray  # (trials, horizon): the clairvoyant's
    best_revenues: np.ndarray  # (trials, horizon): expected

    @property
    def trials(self) -> int:
        return int(self.uniforms.shape[0])

    @property
    def horizon(self) -> int:
        return int(self.uniforms.shape[1])

    def buys(self, trial: int, period: int, price: float) -> int:
        """1 if the customer of that period (from 0) buys at that price, else 0."""
        utility = self.slope * (self.a[trial, period] + self.b[trial, period] * price)
        return int(self.uniforms[trial, period] > 1.0 / (1.0 + math.exp(utility)))

    def revenues(self, trial: int, prices: np.ndarray) -> np.ndarray:
        """Expected revenue of each period for prices of the first periods."""
        n = prices.shape[-1]
        utility = self.slope * (self.a[trial, :n] + self.b[trial, :n] * prices)
        return np.asarray(prices / (1.0 + np.exp(-utility)))

    def average_regret(self, trial: int, prices: np.ndarray) -> float:
        """Expected revenue lost per period against the clairvoyant, over the periods that have a price."""
        return float(np.mean(self.best_revenues[trial, : prices.size] - self.revenues(trial, prices)))

    def best_on_grid(self, trial: int, horizon: int, size: int = GRID) -> np.ndarray:
        """Prices of a clairvoyant who may use the grid alone: what discretization costs every peer at least."""
        each = [self.revenues(trial, np.full(horizon, price)) for price in grid(size)]
        return np.asarray(grid(size)[np.argmax(each, axis=0)])

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **asdict(self))

    @classmethod
    def load(cls, path: Path) -> Instance:
        with np.load(path) as file:
            return cls(**{name: file[name] if file[name].ndim else float(file[name]) for name in file.files})


def grid(size: int = GRID) -> np.ndarray:
    """1/size, 2/size, ..., 1."""
    return np.arange(1, size + 1) / size
