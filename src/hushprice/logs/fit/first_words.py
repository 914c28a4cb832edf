"""What the shop's word may mean before a log is read, and the mean over that.

How far attributes matter, and how far the shop may be wrong, is not known: the belief is the mean over a range of
scales, each weighed by how likely it makes the releases, and its covariance counts that they differ. Nor is it known
whether attributes matter little at one price, or at the prices that such customers were shown. By the first alone, an
attribute that prices went with is held near 0, and the price response pays for it (Hahn, Carvalho, Puelz and He,
"Regularization and confounding in linear regression for treatment effect estimation", 2018). Where prices did not go
with attributes, both say the same.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from hushprice.logs.fit.likeness import Likeness
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.types import FloatArray

_SCALES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
_WORD = (1.0, 2.0, 4.0)  # a shop whose word on level and response the log contradicts is believed less
_DOUBTFUL = 0.25  # log-likelihood that a scale is worth less for each squared doubling


class Word(NamedTuple):
    """Before any score theta is `centre` + `turn` eta, and the entries of eta are 0, give or take, each on its own."""

    centre: FloatArray
    turn: FloatArray


def words_of(model: ShopModel, likeness: Likeness) -> tuple[Word, ...]:
    """Attributes matter little at one price; or at the prices that customers like these were shown.

    The second: with price = gamma'x + rest, log-odds have x'(theta_x - gamma (response + theta_response)), and it is
    this that is 0, give or take. gamma is the description's, hence public.
    """
    size, half = model.size, model.size // 2
    plain = Word(np.zeros(size), np.eye(size))
    if half == 1:
        return (plain,)
    apart = likeness.contexts - likeness.contexts.mean(axis=0)
    gamma = np.linalg.solve(apart.T @ apart, apart.T @ likeness.prices)
    centre, turn = np.zeros(size), np.eye(size)
    centre[1:half] = gamma * model.response
    turn[1:half, half] = gamma
    return plain, Word(centre, turn)


def averaged(
    words: tuple[Word, ...], deviations: FloatArray, curvature: FloatArray, pull: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of theta, where releases say exp(pull'theta - theta' curvature theta / 2).

    The mean is over the words, and over scales of the deviations of level and response, of attributes, and of these
    times price.
    """
    half, unit = deviations.size // 2, np.eye(deviations.size)
    scales = _SCALES if half > 1 else (1.0,)
    chosen = np.array(list(itertools.product(_WORD, scales, scales)))
    tried = np.tile(deviations, (len(chosen), 1))
    tried[:, [0, half]] *= chosen[:, :1]
    tried[:, 1:half] *= chosen[:, 1:2]
    tried[:, half + 1 :] *= chosen[:, 2:]
    lost = np.log(tried).sum(axis=1) + _DOUBTFUL * (np.log2(chosen) ** 2).sum(axis=1)
    likelihoods, means, covariances = list[FloatArray](), list[FloatArray](), list[FloatArray]()
    for centre, turn in words:
        curved, toward = turn.T @ curvature @ turn, turn.T @ (pull - curvature @ centre)
        total = curved + unit * (tried**-2)[:, None, :]
        inverses = np.linalg.inv(total)
        found = inverses @ toward
        fixed = float(centre @ (pull - 0.5 * (curvature @ centre)))
        likelihoods.append(fixed + 0.5 * found @ toward - 0.5 * np.linalg.slogdet(total)[1] - lost)
        means.append(centre + found @ turn.T)
        covariances.append(turn @ inverses @ turn.T)
    every, middles = np.concatenate(likelihoods), np.concatenate(means)
    weights = np.exp(every - logsumexp(every))
    mean = weights @ middles
    apart = (middles - mean) * np.sqrt(weights)[:, None]
    return mean, np.tensordot(weights, np.concatenate(covariances), 1) + apart.T @ apart
