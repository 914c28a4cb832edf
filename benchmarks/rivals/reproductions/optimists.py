"""Optimism on arms as vectors: `ucb-glm`, `glm-ucb` and `wang-optimism`.

Twenty fresh unit vectors a round, log-odds 3 theta'x with theta a random unit vector: contexts are drawn alike and
spread in all directions, as the theorems of `ucb-glm` ask; those of the others ask for less.
"""

from __future__ import annotations

import functools

import numpy as np
from reproductions.settings import TRIALS, Found, frame, slope
from scipy.special import expit

from hushprice.policies.rival_parts.frame import Customers
from hushprice.policies.rival_parts.optimism import LOGISTIC
from hushprice.policies.rival_parts.optimist import Optimist
from hushprice.policies.rivals.glm_ucb import policy as glm_ucb_learner
from hushprice.policies.rivals.glm_ucb.policy import GlmUcb
from hushprice.policies.rivals.ucb_glm import policy as ucb_glm_learner
from hushprice.policies.rivals.ucb_glm.policy import UcbGlm
from hushprice.policies.rivals.wang_optimism import policy as wang_learner
from hushprice.policies.rivals.wang_optimism.policy import WangOptimism
from hushprice.types import FloatArray

ARMS = 20
MARKS = (1000, 4000, 16_000)
SIZES = (2, 4, 8)


def units(rng: np.random.Generator, *shape: int) -> FloatArray:
    """Uniform points of the unit sphere."""
    points = rng.standard_normal(shape)
    return np.asarray(points / np.linalg.norm(points, axis=-1, keepdims=True))


def chosen(player: Optimist, arms: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Which arm of each round is worth most to the optimist; any, until V is large enough."""
    if not player.ready:
        return rng.integers(ARMS, size=len(arms))
    inverse = np.linalg.inv(player.v)
    bonus = player.width() * np.sqrt(np.einsum("nkd,nkd->nk", arms @ inverse, arms))
    mean = arms @ player.theta
    if player.kind == LOGISTIC:
        return np.argmax(mean + bonus, axis=1)
    return np.argmax(np.minimum(expit(player.frame.slope * mean) + bonus, 1.0), axis=1)


def play(kind: type[UcbGlm | GlmUcb | WangOptimism], width: str, size: int) -> FloatArray:
    """Mean regret in all at the marks; `width` names the width's function in the policy's module."""
    module = {UcbGlm: ucb_glm_learner, GlmUcb: glm_ucb_learner, WangOptimism: wang_learner}[kind]
    at, total = frame(MARKS[-1], size - 1, slope=3.0), np.zeros(len(MARKS))
    begin = functools.partial(kind, factor=getattr(module, width)(at))
    for trial in range(TRIALS):
        rng, regret, done = np.random.default_rng((trial, size)), np.empty(MARKS[-1]), 0
        player, truth = begin(at, rng), units(rng, size)
        while done < len(regret):
            count = min(player.due, len(regret) - done)
            arms = units(rng, count, ARMS, size)
            picked = arms[np.arange(count), chosen(player, arms, rng)]
            chances = expit(3.0 * (arms @ truth))
            chance = expit(3.0 * (picked @ truth))
            came = Customers(np.empty((0, count)), picked.T, np.zeros((size, count)))
            player.learn(came, np.zeros(count), (rng.random(count) < chance).astype(float))
            regret[done : done + count] = chances.max(axis=1) - chance
            done += count
        total += np.cumsum(regret)[np.array(MARKS) - 1] / TRIALS
    return total


def grown(kind: type[UcbGlm | GlmUcb | WangOptimism]) -> str:
    """Slopes of ln regret in ln T and in ln d."""
    rows = [play(kind, "usual_width", size) for size in SIZES]
    in_size = slope(list(SIZES), [row[-1] for row in rows])
    ends = ", ".join(f"{row[-1]:.0f}" for row in rows)
    return (
        f"slope {slope(list(MARKS), rows[1].tolist()):.2f} in T from 1,000 to 16,000 (d = 4), {in_size:.2f} in d "
        f"({ends} at d = 2, 4, 8, T = 16,000)"
    )


def ucb_glm() -> Found:
    """Li, Lu and Zhou: d sqrt(T) up to logarithms."""
    return {"reported": "d sqrt(T) up to logarithms: slopes of at most 1 in d and 0.5 in T", "found": grown(UcbGlm)}


def glm_ucb() -> Found:
    """Filippi et al.: d sqrt(T) up to logarithms; a width by an asymptotic argument does much better."""
    proved = play(GlmUcb, "published_width", 4)[-1]
    return {
        "reported": "d sqrt(T) up to logarithms; in practice the asymptotic width does significantly better than the "
        "proved one",
        "found": f"{grown(GlmUcb)}; with the proved width {proved:.0f} at d = 4",
    }


def wang_optimism() -> Found:
    """Wang et al.: sqrt(d^3 T) up to logarithms, here for episodes of one step."""
    return {
        "reported": "sqrt(d^3 T) up to logarithms: slopes of at most 1.5 in d and 0.5 in T",
        "found": grown(WangOptimism),
    }
