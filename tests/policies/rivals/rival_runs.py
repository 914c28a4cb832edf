"""Frames, customers and the loop that tests of rivals share."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.rival_policy import Asked, Rival
from hushprice.privacy.budget import EpsilonDelta
from hushprice.types import FloatArray


def frame(contexts: int = 2, **changes: Any) -> Frame:
    """That of the paper's markets."""
    size = contexts + 1
    given: dict[str, Any] = {"horizon": 2000, "lowest": 0.0, "highest": 1.0, "slope": 4.0, "length": 1.0}
    given |= {"contexts": contexts, "dimension": size, "doubts": (1.0,) * size}
    return Frame(**given | changes)


def shop_frame(contexts: int = 2, **changes: Any) -> Frame:
    """A product's: relative prices, a cost, and what the shop declares."""
    size = 2 * contexts + 2
    given: dict[str, Any] = {"horizon": 2000, "lowest": -1.0, "highest": 0.8, "slope": 1.0, "length": size**0.5}
    given |= {"margin": 1.7, "level": -0.4, "response": 0.9, "today": 0.0}
    given |= {"contexts": contexts, "dimension": size, "doubts": (3.0,) + (1.0,) * (size - 1)}
    return Frame(**given | changes)


def customers(frame: Frame, count: int, rng: np.random.Generator) -> Customers:
    """Uniform contexts, with the features of either frame."""
    x = rng.uniform(-1.0, 1.0, (frame.contexts, count))
    if frame.today is None:
        u, v = np.zeros((frame.dimension, count)), np.zeros((frame.dimension, count))
        u[:-1], v[-1] = x, -1.0
        return Customers(x, u / frame.dimension**0.5, v / frame.dimension**0.5)
    half = np.concatenate([np.ones((1, count)), x])
    return Customers(x, np.concatenate([half, 0.0 * half]), np.concatenate([0.0 * half, -half]))


def asked(name: str, **changes: Any) -> Asked:
    return Asked(**{"name": name, "claimed": EpsilonDelta(1.0, 1e-6)} | changes)


def play(rival: Rival, frame: Frame, theta: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Prices of that many customers whose log-odds follow theta in the frame."""
    charged = np.empty(count)
    done = 0
    while done < count:
        came = customers(frame, min(rival.due, count - done, 512), rng)
        prices = rival.prices(came)
        odds = frame.offset(prices) + frame.slope * (came.features(prices) @ theta)
        rival.learn(came, prices, (rng.random(came.size) < 1.0 / (1.0 + np.exp(-odds))).astype(float))
        charged[done : done + came.size] = prices
        done += came.size
    return charged
