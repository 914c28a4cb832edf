"""The two neighbouring records that a policy's releases tell apart best; `None` is a record that is not there.

All of a mu-GDP promise is used up by one pair, and an audit that looks at another finds less than there is to find.
"""

from __future__ import annotations

import math

import numpy as np

from hushprice.demand.protocol import Demand, lowest
from hushprice.policies.newton.policy import NewtonPolicy
from hushprice.policies.newton.private.batches import Scorer
from hushprice.policies.newton.private.scores import ROWS
from hushprice.policies.newton.rules import PRECISION
from hushprice.policies.paper.policy import PaperPolicy
from hushprice.privacy.adjacency import Adjacency
from hushprice.types import FloatArray

Example = tuple[FloatArray, float]  # features and what was bought
WorstPair = tuple[Example, Example | None]

_LENGTHS = 4000  # of features that are tried
_SHORT = 1e-6  # features this short have a score of length 1 and next to no curvature


def first_belief(policy: NewtonPolicy) -> tuple[FloatArray, FloatArray]:
    """theta and inverse before the first batch, which are public."""
    center = np.array(policy.rules.center)
    return center, np.eye(center.size) / PRECISION


def worst_for_newton(policy: NewtonPolicy, demand: Demand) -> WorstPair:
    """docs/proofs/batches.md, section 2: J(a, b) is reached by one of two kinds of pairs, by a + b where zeroed out.

    Parallel: a record with all the score and all the curvature there is, and one with the opposite score and no
    curvature. Oblique: both have all of both, at the cosine min(1, a / 2b). How long features must be for that depends
    on the belief and on the cap, and is found by trying lengths with the learner's own scorer.
    """
    d, noise = len(policy.rules.center), policy.rules.noise
    a, b = noise.score**-2, noise.curvature**-2
    lengths = np.arange(1, _LENGTHS + 1) / _LENGTHS
    score, curvature, bought = _tried(policy, demand, lengths)
    alone = a * score**2 + b * curvature**2
    parallel = a * (score + 1.0) ** 2 + b * curvature**2
    cosine = min(1.0, a / (2.0 * b)) if d > 1 else 1.0
    best, chosen = int(alone.argmax()), int(parallel.argmax())
    oblique = a * score[best] ** 2 * (2.0 + 2.0 * cosine) + b * curvature[best] ** 2 * (2.0 - 2.0 * cosine**2)
    if policy.adjacency is Adjacency.ZERO_OUT:
        return (_along(lengths[best], 1.0, d), bought[best]), None
    if oblique > parallel[chosen]:
        other = -_along(lengths[best], cosine, d)
        return (_along(lengths[best], 1.0, d), bought[best]), (other, bought[best])
    _, _, farthest = _tried(policy, demand, np.array([_SHORT]))
    return (_along(lengths[chosen], 1.0, d), bought[chosen]), (-_along(_SHORT, 1.0, d), farthest[0])


def worst_for_paper(policy: PaperPolicy, demand: Demand) -> WorstPair:
    """Features of length 1 at right angles: no two covariances are further apart (docs/proofs/sensitivity.md, 1)."""
    assert policy.basis is not None
    d, bought = policy.basis.dimension, lowest(demand)
    first = _along(1.0, 1.0, d), bought
    if policy.adjacency is Adjacency.ZERO_OUT:
        return first, None
    return first, (_along(1.0, 0.0, d), bought) if d > 1 else (np.zeros(1), bought)


def _tried(policy: NewtonPolicy, demand: Demand, lengths: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of features along the first axis, by length: the longest score, its curvature, and what was bought then."""
    columns = np.zeros((len(policy.rules.center), lengths.size))
    columns[0] = lengths
    scorer, tried = Scorer(demand=demand, cap=policy.rules.cap), []
    for bought in (lowest(demand), float(demand.bound)):
        work = np.empty((ROWS, lengths.size))
        scorer.weigh(columns, np.full(lengths.size, bought), *first_belief(policy), work)
        tried.append((np.abs(work[2]) * lengths, work[3] * lengths**2, np.full(lengths.size, bought)))
    longer = tried[1][0] > tried[0][0]
    score, curvature, bought_then = (np.where(longer, high, low) for low, high in zip(*tried, strict=True))
    return score, curvature, bought_then


def _along(length: float, cosine: float, dimension: int) -> FloatArray:
    """Features of that length, at that cosine to the first axis."""
    phi = np.zeros(dimension)
    phi[-1] = length * math.sqrt(1.0 - cosine * cosine)
    phi[0] = length * cosine
    return phi
