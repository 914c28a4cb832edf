"""The batches of policy cautious: two neighbouring shops, and everything that is released of two batches.

Records go through the learner itself, ideal or live. The batch after the record's is watched as well: it must not know
the record. Given belief and noise from a script, what is released is linear in the noise, so how well a pair can be
told apart is read off exactly (`audit_moments`), as batches.py does for noisy-newton.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource, System
from hushprice.policies.cautious.pricing.instruments import WEIGHTS
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import CautiousRules, cautious
from hushprice.privacy import sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import MomentBatches
from hushprice.privacy.loss import loss_of
from hushprice.product import Product
from hushprice.research.audits.finding import Measurement
from hushprice.research.audits.scripted_noise import ScriptedNoise
from hushprice.settings import PolicySettings
from hushprice.types import FloatArray

CAUTIOUS = "cautious"
_PRODUCT = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, contexts=2)
_STEEP = 400.0  # of log-odds: all buy or nobody does
_COMPANY = 5  # other customers of the record's batch
_SLACK = 1e-7  # relative; of solving for mu in floating point, and of what live noise is charged for besides
_LEAST = 1e-6  # what the noise cannot explain of a difference, relative to it, before mu counts as infinite


class Shopper(NamedTuple):
    """A record: who came, the relative price they got, and what they bought."""

    context: FloatArray
    price: float
    demand: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NeighbouringShops:
    """Two worlds that differ in one record; the rest is the same in both. No `other` takes the record out."""

    theta: FloatArray
    choice: int
    first: Shopper
    other: Shopper | None
    coin: float = 1.0
    holdout: bool = False
    company: tuple[Shopper, ...] = ()


def rules_of(product: Product = _PRODUCT, **setting: Any) -> CautiousRules:
    """The rules of a product under the budget of what `prepare` takes; there is no market, and no tape yet.

    What else policy cautious does not read is refused.
    """
    asked = {name: value for name, value in setting.items() if name not in ("market", "dimension", "seed")}
    settings = PolicySettings(policy=CAUTIOUS, **asked)
    for option, value in settings.given.items():
        raise InvalidInput(f"{option} is not for policy {CAUTIOUS!r}, got {value!r}")
    fields = ("contexts", "margin", "level", "response", "lowest", "highest")
    model = ShopModel(**{name: getattr(product, name) for name in fields})
    budget, adjacency = settings.budget.total, settings.neighbours
    return cautious(budget, model=model, risk=product.risk, horizon=settings.horizon, adjacency=adjacency)


class MomentTranscripts:
    """Two batches: one with the record, and one that must not know it."""

    def __init__(self, rules: CautiousRules, pair: NeighbouringShops, source: NoiseSource) -> None:
        self.learner = CautiousLearner(rules=rules, source=source, choice=pair.choice)
        self._pair = pair
        # A record that is not there is one that cannot be read: it keeps its slot.
        self._empty = Shopper(np.full(rules.model.contexts, math.nan), 0.0, 0.0)

    def play(self, record: Shopper | None) -> FloatArray:
        """Two releases. Slots are counted on, so that no simulated noise is met twice."""
        learner, pair, released = self.learner, self._pair, list[FloatArray]()
        for first in (record, None):
            shoppers = [self._empty if first is None else first, *pair.company]
            contexts, prices, demands = (np.array(column) for column in zip(*shoppers, strict=True))
            coins, apart = np.full(len(shoppers), pair.coin), np.full(len(shoppers), pair.holdout)
            learner.begin(pair.choice)
            learner.absorb(contexts, prices, coins, demands, pair.theta, apart)
            sums = learner.release()
            released += [sums.score, sums.descriptions, sums.earnings]
        return np.concatenate(released)


def sizes_of(rules: CautiousRules) -> tuple[int, int, int]:
    """Numbers in each sum of a release."""
    event = rules.noise.event(rules.model.contexts, live=False)
    return event.scores, event.descriptions, 2


def noise_map(rules: CautiousRules, choice: int, *, live: bool) -> FloatArray:
    """The matrix that noise, in deviations, passes on its way to two releases of batches of these weights."""
    size = 2 * sum(sizes_of(rules))
    nobody = Shopper(np.zeros(rules.model.contexts), 0.0, 0.0)
    empty = NeighbouringShops(theta=np.zeros(rules.model.size), choice=choice, first=nobody, other=None)
    start = _played(rules, empty, None, np.zeros(size), live=live)
    return np.stack([_played(rules, empty, None, unit, live=live) - start for unit in np.eye(size)], axis=1)


def needed_noise(rules: CautiousRules, pair: NeighbouringShops, matrix: FloatArray, *, live: bool) -> FloatArray | None:
    """The noise, in deviations, that makes the second world publish what the first does; None where there is none.

    A row a batch; its length is the pair's mu.
    """
    quiet = np.zeros(matrix.shape[1])
    first, other = (_played(rules, pair, record, quiet, live=live) for record in (pair.first, pair.other))
    moved = first - other
    needed = np.asarray(np.linalg.lstsq(matrix, moved)[0], dtype=np.float64)
    unexplained = float(np.linalg.norm(matrix @ needed - moved))
    return None if unexplained > _LEAST * float(np.linalg.norm(moved)) else needed.reshape(2, -1)


def _played(
    rules: CautiousRules, pair: NeighbouringShops, record: Shopper | None, numbers: FloatArray, *, live: bool
) -> FloatArray:
    """Two releases with noise from a script."""
    script: Any = ScriptedNoise(numbers)
    played = MomentTranscripts(rules, pair, System() if live else script)
    if live:
        assert isinstance(played.learner.event, MomentBatches)
        played.learner.batch = ExactSums(event=played.learner.event, source=script)
    return played.play(record)


def worst_shops(rules: CautiousRules) -> NeighbouringShops:
    """The pair that is told apart best, of the kinds that docs/proofs/moments.md names: tried one after the other."""
    tried, lengths = list[NeighbouringShops](), list[float]()
    for choice in range(len(WEIGHTS)):
        matrix = noise_map(rules, choice, live=False)
        kinds = _kinds(rules, choice)
        tried += kinds
        lengths += [_length(needed_noise(rules, pair, matrix, live=False)) for pair in kinds]
    return tried[int(np.argmax(lengths))]


def audit_moments(rules: CautiousRules, *, live: bool = True, pairs: int = 8, seed: int = 0) -> list[Measurement]:
    """The largest mu of each sum and of all together, over the worst pairs and random ones beyond all bounds."""
    event, adjacency = rules.noise.event(rules.model.contexts, live=live), rules.noise.adjacency
    random, found = np.random.default_rng(seed), dict[str, list[float]]()
    scores = [f"score, weights {choice}" for choice in range(len(WEIGHTS))]
    others = ("descriptions", "earnings", "all three sums")
    for choice, score in enumerate(scores):
        made = [*_kinds(rules, choice), *(_random_pair(rules, choice, random) for _ in range(pairs))]
        matrix = noise_map(rules, choice, live=live)
        for pair in made:
            needed = needed_noise(rules, pair, matrix, live=live)
            parts = [None] * 3 if needed is None else np.split(needed, np.cumsum(sizes_of(rules))[:-1], axis=1)
            for name, part in zip((score, *others), (*parts, needed), strict=True):
                found.setdefault(name, []).append(_length(part))
    allowed = dict.fromkeys(scores, 1.0 / event.noise) | {
        "descriptions": sensitivity.of_covariance(adjacency) / event.description_noise,
        "earnings": 1.0 / event.earnings_noise,
        "all three sums": loss_of(event, 1, adjacency).mu,
    }
    return [
        Measurement(
            f"moments ({name}, {'live' if live else 'ideal'} noise, {adjacency.value})",
            max(found[name]),
            most,
            max(found[name]) <= most * (1.0 + _SLACK),
            f"largest mu of {len(found[name])} neighbouring pairs: pair {int(np.argmax(found[name]))}",
        )
        for name, most in allowed.items()
    ]


def _length(noise: FloatArray | None) -> float:
    return math.inf if noise is None else float(np.linalg.norm(noise))


def _kinds(rules: CautiousRules, choice: int) -> list[NeighbouringShops]:
    """Records at the corners of what is allowed, at a belief by which the first one was sure not to buy.

    The other one bought as well, or half, or was sure to and did not; it lies in the same direction, in the opposite
    one, or at a right angle, its price at the same end or at the other. Its bins differ in every entry.
    """
    model = rules.model
    k, half = model.contexts, model.contexts + 1
    ones, turned = np.ones(k), np.where(np.arange(k) % 2 == 0, 1.0, -1.0)
    made = []
    directions = (0.7 * ones, -ones, 0.7 * turned) if k > 0 else (ones,)
    for direction, demand, price in itertools.product(directions, (1.0, 0.5, 0.0), (1.0, -1.0)):
        theta = np.zeros(model.size)
        theta[0], theta[half] = -model.level - _STEEP, -model.response
        if demand == 0.0 and k > 0:  # log-odds from -400 where the first one stands to 400 where the other does
            towards = direction - ones
            theta[1:half] = 2.0 * _STEEP * towards / float(towards @ towards)
            theta[0] -= float(theta[1:half] @ ones)
        pair = NeighbouringShops(
            theta=theta,
            choice=choice,
            first=Shopper(ones, 1.0, 1.0),
            other=Shopper(direction, price, demand),
        )
        made.append(replace(pair, other=None) if rules.noise.adjacency is Adjacency.ZERO_OUT else pair)
    return made


def _random_pair(rules: CautiousRules, choice: int, random: np.random.Generator) -> NeighbouringShops:
    """Records far out of all bounds: they must be held to them."""
    k = rules.model.contexts

    def shopper() -> Shopper:
        scale = random.choice([0.5, 3.0])
        context = scale * random.normal(size=k)
        return Shopper(context, float(scale * random.normal()), float(random.choice([0.0, 0.4, 1.0, 1e3, -1e3])))

    other = None if rules.noise.adjacency is Adjacency.ZERO_OUT else shopper()
    return NeighbouringShops(
        theta=random.choice([0.0, 1.0, 30.0]) * random.normal(size=rules.model.size),
        choice=choice,
        first=shopper(),
        other=other,
        coin=float(random.choice([-1.0, 1.0])),
        holdout=bool(random.integers(2)),
        company=tuple(shopper() for _ in range(_COMPANY)),
    )
