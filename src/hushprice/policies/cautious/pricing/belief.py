"""What releases say about theta: a Gaussian belief, fitted anew to all batches whenever one more is released.

Batch i published S_i = sum of psi (f(theta_i) - y) + noise. Its expectation under theta is computed on the population,
so that a batch is read with what is known about customers today, not on the day it was released:

    E_i(theta) = n_i mean psi (f(theta_i) - f(theta)).

The belief is the minimum of the sum of (S_i - E_i)' V_i^-1 (S_i - E_i) and the first belief, by Gauss-Newton steps. V_i
is sampling variance, noise, and a share for what the population gets wrong.

How far attributes matter at all is not known beforehand: the first belief's deviations of attributes, and of
attributes times price, are scaled to what makes the releases most likely (empirical Bayes). So one price comes first,
and personal prices as far as evidence carries.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import expit

from hushprice.policies.cautious.pricing.instruments import SHARES, WATCHING, held, used_entries
from hushprice.policies.cautious.pricing.laplace import noise_variance
from hushprice.policies.cautious.pricing.shop_model import ShopModel, with_constant
from hushprice.types import FloatArray

MISFIT = 0.05  # of what a batch can move the belief: how far the population may be from the customers
_SCALES = (0.25, 0.5, 1.0, 2.0)  # no more: Laplace noise is now and then far out, and would pass for attributes
_DOUBTFUL = 0.5  # log-likelihood that a scale must gain for each squared doubling
_STEPS = 12
_LONGEST = 2.0  # of a step, in deviations of the first belief
_PERSONAL = tuple(choice for choice, share in enumerate(SHARES) if share > 0.0)  # that tell attributes apart
_FORGET = 0.5  # of the first belief's covariance is added then


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """How a batch is priced and learned: a public choice, made from releases before its first customer."""

    count: int  # slots
    move: float  # share of the way from today's price to the one believed best for the customer
    spread: float  # a fair coin puts the relative price this much above or below
    choice: int  # of the instruments' SHARES
    offset: float = 0.0  # and so much for everybody alike: on the way to the best common price


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ReleasedBatch:
    """A batch that was released."""

    rule: Rule
    theta: FloatArray  # the belief its customers were priced and scored by
    score: FloatArray
    noise: FloatArray  # deviation of each entry of the score


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """N(theta, covariance)."""

    theta: FloatArray
    covariance: FloatArray


def first_belief(deviations: FloatArray) -> Belief:
    """Before any release: the shop is right, give or take."""
    return Belief(np.zeros(deviations.size), np.diag(deviations**2))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreModel:
    """What a batch's score is expected to be, and how it depends on theta."""

    jacobian: FloatArray
    sampling: FloatArray
    expected: FloatArray
    doubt: FloatArray  # squares: n times the root mean square, over people, of what is added up to `expected`
    size: FloatArray  # the same of psi f
    variety: FloatArray  # variance over people of what each is expected to add, times n^2

    def of(self, which: int) -> ScoreModel:
        """Of one batch, where this is of many."""
        return ScoreModel(*(getattr(self, each.name)[which] for each in fields(ScoreModel)))


def score_model(
    model: ShopModel, people: FloatArray, rule: Rule, priced_by: FloatArray, theta: FloatArray, *, count: float
) -> ScoreModel:
    """Of a batch of `count` customers like `people`, priced and scored by one theta, under another."""
    return score_models(model, people, [rule], priced_by.reshape(1, -1), theta, counts=np.array([float(count)])).of(0)


def score_models(
    model: ShopModel,
    people: FloatArray,
    rules: list[Rule],
    priced_by: FloatArray,
    theta: FloatArray,
    *,
    counts: FloatArray,
) -> ScoreModel:
    """Of many batches at once, each priced by its row: everything has an axis more, the batch."""
    customers, told, half = with_constant(people), with_constant(held(people)), model.contexts + 1
    choices, spreads = np.array([rule.choice for rule in rules]), np.array([[rule.spread] for rule in rules])
    told_apart = np.where(np.isin(choices, _PERSONAL)[:, None, None], 1.0, np.eye(1, half))  # entries that are released
    level, response = model.lines(priced_by, customers)
    moves, offsets = (np.array([[getattr(rule, name)] for rule in rules]) for name in ("move", "offset"))
    price = np.stack(model.coin_prices(level, response, moves, spreads, offsets), axis=1)  # batch, side, customer
    true_level, true_response = model.lines(theta, customers)
    demand = expit(true_level - true_response * price)
    away = model.held(expit(level[:, None] - response[:, None] * price)) - demand
    share = np.broadcast_to((counts / (2 * len(people)))[:, None, None], demand.shape)
    watching = choices == WATCHING

    def added_up(weights: FloatArray, products: FloatArray) -> FloatArray:
        """Over customers; where coins are not told apart, over both sides."""
        sides = weights @ products
        sides[watching, 0] += sides[watching, 1]
        sides[watching, 1] = 0.0
        return np.asarray(sides)

    uncertain = demand * (1.0 - demand) * share
    shape, flat = (len(rules), 2, half, half), (len(rules), 2 * half)
    crossed, squares = _products(told, customers), told * told
    by_level = added_up(uncertain, crossed).reshape(shape) * told_apart[..., None]
    by_price = added_up(uncertain * price, crossed).reshape(shape) * told_apart[..., None]
    sampling = np.zeros((len(rules), 2, half, 2, half))
    apart = added_up(uncertain, _products(told, told)).reshape(shape) * told_apart[..., None] * told_apart[:, :, None]
    sampling[:, 0, :, 0], sampling[:, 1, :, 1] = apart[:, 0], apart[:, 1]
    mean = added_up(0.5 * away, told) / len(people)
    each = np.where(watching[:, None, None], away.sum(axis=1, keepdims=True) * np.array([[1.0], [0.0]]), away)
    varied = 0.25 * (each * each) @ squares / len(people) - mean * mean
    weighted = share * counts[:, None, None]
    return ScoreModel(
        jacobian=np.concatenate([by_level, -by_price], axis=-1).reshape(len(rules), 2 * half, 2 * half),
        sampling=sampling.reshape(len(rules), 2 * half, 2 * half),
        expected=(added_up(share * away, told) * told_apart).reshape(flat),
        doubt=(added_up(weighted * away * away, squares) * told_apart).reshape(flat),
        size=(added_up(weighted * demand * demand, squares) * told_apart).reshape(flat),
        variety=(np.maximum(varied, 0.0) * told_apart * counts[:, None, None] ** 2).reshape(flat),
    )


def _products(left: FloatArray, right: FloatArray) -> FloatArray:
    """Of all entries of rows with each other, a row a row."""
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))


def misfit_of(found: ScoreModel, covariance: FloatArray) -> FloatArray:
    """How uncertain a score is because the population is not quite the customers: in proportion to what it can move."""
    moved = np.einsum("ij,jk,ik->i", found.jacobian, covariance, found.jacobian)
    return np.asarray(MISFIT * MISFIT * moved)


def score_variance(found: ScoreModel, misfit: FloatArray, noise: FloatArray) -> FloatArray:
    """V: of a batch's score around its expectation."""
    return np.asarray(found.sampling + np.diag(misfit + (noise * noise + 1e-9)))


def forgetting(belief: Belief, deviations: FloatArray) -> Belief:
    """The belief once demand has changed: where it was, and much less sure."""
    return Belief(belief.theta, belief.covariance + _FORGET * np.diag(deviations**2))


def fitted(
    model: ShopModel,
    people: FloatArray,
    before: Belief,
    batches: list[ReleasedBatch],
    start: FloatArray,
    *,
    misfit: float,
    scaled: bool,
    laplace: float = 0.0,
) -> Belief:
    """The belief after these batches, from `before`.

    `misfit` is how much of the population is a guess: it matters where people differ. `scaled` says that deviations of
    attributes may be scaled, `laplace` how far noise is read as Laplace noise.
    """
    theta, prior = start, np.linalg.inv(before.covariance)
    deviations = np.sqrt(np.diag(before.covariance))
    for _ in range(_STEPS):
        curvature, pull = _evidence(model, people, batches, theta, misfit=misfit, laplace=laplace)
        if scaled:
            prior = np.diag(_likeliest(deviations, curvature, curvature @ theta + pull) ** -2)
        total = curvature + prior
        step = np.linalg.solve(total, pull + prior @ (before.theta - theta))
        length = math.sqrt(float((step / deviations) @ (step / deviations)))
        theta = theta + step * min(1.0, _LONGEST / max(length, 1e-12))
        if length < 0.02:
            break
    covariance = np.linalg.inv(total)
    return Belief(theta, 0.5 * (covariance + covariance.T))


def _evidence(
    model: ShopModel,
    people: FloatArray,
    batches: list[ReleasedBatch],
    theta: FloatArray,
    *,
    misfit: float,
    laplace: float,
) -> tuple[FloatArray, FloatArray]:
    """Curvature and gradient of the batches' log-likelihood at theta."""
    curvature, pull = np.zeros((model.size, model.size)), np.zeros(model.size)
    if not batches:
        return curvature, pull
    rules, counts = [batch.rule for batch in batches], np.array([float(batch.rule.count) for batch in batches])
    found = score_models(model, people, rules, np.array([batch.theta for batch in batches]), theta, counts=counts)
    noise, scores = np.array([batch.noise for batch in batches]), np.array([batch.score for batch in batches])
    wrong = MISFIT * MISFIT * found.doubt + misfit * misfit * found.variety
    for choice in {rule.choice for rule in rules}:
        these = np.array([i for i, rule in enumerate(rules) if rule.choice == choice])
        used = used_entries(model.contexts, choice)
        jacobian = found.jacobian[np.ix_(these, used)]
        away = (scores - found.expected)[np.ix_(these, used)]
        variance = found.sampling[np.ix_(these, used, used)]
        diagonal = np.arange(used.size)
        variance[:, diagonal, diagonal] += wrong[np.ix_(these, used)] + 1e-9
        variance[:, diagonal, diagonal] += noise_variance(variance, away, noise[np.ix_(these, used)], laplace)
        solved = np.linalg.solve(variance, np.concatenate([jacobian, away[:, :, None]], axis=2))
        weighed = jacobian.reshape(-1, model.size).T @ solved.reshape(-1, model.size + 1)
        curvature += weighed[:, :-1]
        pull -= weighed[:, -1]
    return curvature, pull


def _likeliest(deviations: FloatArray, curvature: FloatArray, pull: FloatArray) -> FloatArray:
    """The first belief's deviations with those of attributes, and of attributes times price, scaled."""
    half = deviations.size // 2
    best, chosen = -math.inf, deviations
    for attributes, personal in itertools.product(_SCALES, _SCALES) if half > 1 else ():
        tried = deviations.copy()
        tried[1:half] *= attributes
        tried[half + 1 :] *= personal
        total = curvature + np.diag(tried**-2)
        factor = np.linalg.cholesky(total)
        fit = np.linalg.solve(factor, pull)
        doubt = _DOUBTFUL * (math.log2(attributes) ** 2 + math.log2(personal) ** 2)
        likelihood = 0.5 * float(fit @ fit) - float(np.log(np.diag(factor)).sum() + np.log(tried).sum()) - doubt
        if likelihood > best:
            best, chosen = likelihood, tried
    return chosen
