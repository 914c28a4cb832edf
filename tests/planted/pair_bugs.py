"""Bugs in what a record's score and curvature cost together, and the check that tries records at every angle."""

from __future__ import annotations

import numpy as np
from tests.planted.planting import changed

from hushprice.demand.families import Logistic
from hushprice.policies.newton.private.batches import Scorer
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import Batches
from hushprice.privacy.loss import loss_of
from hushprice.research.audits.batches import NeighbouringBatches, batch_of, mu_of, noise_map
from hushprice.types import FloatArray

# Right where scores have much of the noise's cost, and too little where they have not: then two records between
# parallel and orthogonal ones are the worst.
worst_pair_taken_as_parallel = changed(
    sensitivity, "overcounted", lambda real: lambda score, curvature, adjacency: curvature**-2
)
worst_pair_taken_as_oblique = changed(
    sensitivity,
    "overcounted",
    lambda real: lambda score, curvature, adjacency: (2.0 - min(1.0, 0.5 * (curvature / score) ** 2)) * score**-2,
)


def every_pair_is_paid_for() -> None:
    """Two records at every angle, each with all the score and all the curvature there is, or parallel and one short.

    At the first belief a logistic record with ||phi|| = 1 has f = 1/2 and w f' = 2: with that cap nothing is reduced.
    """
    scorer, angles = Scorer(demand=Logistic(), cap=2.0), np.linspace(0.0, np.pi / 2, 181)
    others = [np.array([np.cos(angle), np.sin(angle)]) for angle in angles] + [np.array([1e-6, 0.0])]
    for ratio in (0.1, 0.5, 0.7, 0.9, 1.2247, 3.0):  # of the curvature's noise to the score's
        event = Batches(dimension=2, score_noise=1.0, curvature_noise=ratio, levels=2)
        pairs = [_pair(other) for other in others]
        matrix = noise_map(batch_of(event), event, scorer, pairs[0])
        found = max(mu_of(batch_of(event), scorer, pair, matrix) for pair in pairs)
        paid = loss_of(event, 1, Adjacency.REPLACE_ONE).mu
        assert 0.999 * paid < found <= paid * (1.0 + 1e-7), (ratio, found, paid)


def _pair(other: FloatArray) -> NeighbouringBatches:
    """A batch whose first record did not buy, and one with another there, who did."""
    features, demands = np.tile([1.0, 0.0], (12, 1)), np.zeros(12)
    return NeighbouringBatches(np.zeros(2), np.zeros((2, 2)), features, demands, 0, (other, 1.0))
