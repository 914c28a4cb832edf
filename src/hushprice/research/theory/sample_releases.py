"""Records, released covariances and estimates, by the same steps and releasers that prices are made with."""

from __future__ import annotations

import math

import numpy as np

from hushprice.demand import features
from hushprice.demand.families import Logistic
from hushprice.demand.features import main_effects
from hushprice.mechanisms import continual_sum, toeplitz, tree
from hushprice.numerics import tape
from hushprice.numerics.linear import packed_size
from hushprice.policies.paper import published_noise, tight_noise
from hushprice.policies.paper.noise import strategy_of
from hushprice.policies.paper.private import covariance
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.streams import Tree, steps_of
from hushprice.simulation import contexts
from hushprice.simulation.market import Market
from hushprice.types import FloatArray

STREAMS = ("printed", "published", "tight")  # the paper's tree twice, and the Toeplitz stream
_CHUNK = 1 << 15


def plain_market(dimension: int) -> Market:
    """Logistic demand in any dimension: one attribute tells something, the others nothing, utilities do not change.

    The map divides by sqrt(d); theta* makes up for it, so demand and every best price are the same in every dimension.
    """
    theta = np.zeros(dimension)
    theta[0], theta[-1] = -0.1 * math.sqrt(dimension), 0.25 * math.sqrt(dimension)  # norm below 1 up to d = 13
    return Market(
        demand=Logistic(slope=8.0), features=main_effects(dimension - 1), theta=theta, name=f"plain, d = {dimension}"
    )


def random_features(market: Market, count: int, *, horizon: int, seed: int, trial: int) -> FloatArray:
    """phi of the first `count` customers at uniformly random prices, one column each."""
    x = np.empty((market.features.contexts, count))
    contexts.fill(market.stream(horizon), seed, trial, 1, count, x)
    u, v = np.empty((market.dimension, count)), np.empty((market.dimension, count))
    features.fill(market.features.code, x, count, u, v)
    return u + np.random.default_rng([seed, trial, 1]).random(count) * v


def stream_noise(name: str, share: EpsilonDelta, horizon: int) -> float:
    """Deviation of a node, or of a Toeplitz summand, that a budget for the covariance alone buys."""
    if name == "tight":
        return tight_noise.covariance_noise(share, horizon, strategy="toeplitz", adjacency=Adjacency.REPLACE_ONE)
    return published_noise.covariance_noise(share, horizon, square_root=name == "published")


def strategy_name(name: str) -> str:
    """How that calibration arranges its noise."""
    return "toeplitz" if name == "tight" else "tree"


def largest_row(name: str, horizon: int) -> float:
    """How many times a summand's deviation a released entry can have."""
    return strategy_of(strategy_name(name), horizon).row_norm(steps_of(horizon))


def release_all(
    name: str, phi: FloatArray, noise: float, *, horizon: int, seed: int, trial: int
) -> tuple[FloatArray, FloatArray]:
    """Sigma_n^p and Sigma_n after each of the T - 1 records of phi, packed upper triangles, one column each."""
    d, count = phi.shape
    strategy = strategy_of(strategy_name(name), horizon)
    exact, running = continual_sum.empty_state(strategy, d)
    scales = continual_sum.scales_of(noise, name == "tight", d)
    size = packed_size(d)
    summands, draws = np.empty((size, count)), np.empty((4 * ((size + 3) // 4), count))
    covariance.outers(phi, 0, count, summands)
    tape.fill_normals(seed, trial, tape.COVARIANCE_NOISE, 1, count, draws.shape[0], draws)
    before = np.empty((size, count))
    if isinstance(strategy, Tree):
        tree.absorb_many(exact, running, 1, count, summands, draws, scales, before)
    else:
        toeplitz.absorb_many(
            exact, running, *continual_sum.sections_of(strategy), count, summands, draws, scales, before
        )
    released = np.concatenate([before[:, 1:], running[0][:, None]], axis=1)
    return released, np.cumsum(summands, axis=1)


def unpacked(packed: FloatArray, dimension: int) -> FloatArray:
    """Packed triangles, one column each, as (columns, d, d)."""
    rows, columns = np.triu_indices(dimension)
    out = np.empty((packed.shape[1], dimension, dimension))
    out[:, rows, columns] = packed.T
    out[:, columns, rows] = packed.T
    return out


def operator_norms(packed: FloatArray, dimension: int) -> FloatArray:
    """The largest absolute eigenvalue of every column."""
    pieces = [
        np.abs(np.linalg.eigvalsh(unpacked(packed[:, at : at + _CHUNK], dimension))).max(axis=1)
        for at in range(0, packed.shape[1], _CHUNK)
    ]
    return np.concatenate(pieces)


def log_determinants(packed: FloatArray, ridge: float, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Sign and ln|det(Sigma + ridge I)| of every column."""
    signs, logs = [], []
    for at in range(0, packed.shape[1], _CHUNK):
        sign, log = np.linalg.slogdet(unpacked(packed[:, at : at + _CHUNK], dimension) + ridge * np.eye(dimension))
        signs.append(sign)
        logs.append(log)
    return np.concatenate(signs), np.concatenate(logs)
