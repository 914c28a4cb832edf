"""The batches of policy cautious: two neighbouring shops, and everything that is released of two batches.

Records go through the learner itself, ideal or live. The batch after the record's is watched as well: it must not know
the record. Given belief and noise from a script, what is released is linear in the noise, so which noise would hide the
change of a record is read off exactly (`audit_moments`). What that costs is known in closed form: the sum of sizes of
the Laplace numbers, in units of their scales, and the length of the Gaussian ones.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hushprice.errors import InvalidInput
from hushprice.noise import NoiseSource, System
from hushprice.policies.cautious.pricing.instruments import SHARES, entries, used_entries
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.cautious.private.learner import CautiousLearner
from hushprice.policies.cautious.rules import CautiousRules, cautious
from hushprice.privacy import accountant, sensitivity
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.events import LaplaceBatches
from hushprice.privacy.loss import Loss, loss_of
from hushprice.product import Product
from hushprice.research.audits.finding import Measurement
from hushprice.settings import PolicySettings
from hushprice.types import FloatArray

CAUTIOUS = "cautious"
_PRODUCT = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, contexts=2)
_STEEP = 400.0  # of log-odds: all buy or nobody does
_COMPANY = 5  # other customers of the record's batch
_SLACK = 1e-7  # relative; of solving for noise in floating point, and of what live noise is charged for besides
_LEAST = 1e-6  # what the noise cannot explain of a difference, relative to it, before a loss counts as infinite
_PARTS = ("descriptions", "earnings", "all three sums")
_APART = "earnings of the holdout"


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


class ScriptedMoments:
    """A noise source that reads out numbers, each once: Laplace of scale 1 for scores and earnings, else normal.

    A batch's are as many as it publishes with noise: of the entries of the score that are `used`, of the descriptions,
    and of the two earnings. Past the script there is no noise.
    """

    label: ClassVar[str] = "script (audit only, not private)"
    secure: ClassVar[bool] = False
    simulated: ClassVar[bool] = True

    def __init__(self, rules: CautiousRules, choice: int, numbers: FloatArray) -> None:
        self._sizes, self._used = sizes_of(rules), used_entries(rules.model.contexts, choice)
        self._left = list(numbers)

    def _next(self, count: int) -> FloatArray:
        return np.array([self._left.pop(0) if self._left else 0.0 for _ in range(count)])

    def normals(self, stream: int, period: int, count: int) -> FloatArray:
        """A batch's, as the tape gives them: a Laplace number is half of a^2 + b^2 - c^2 - d^2."""
        scores, descriptions, earnings = self._sizes
        laplace = np.zeros(scores + earnings)
        laplace[self._used], normals, laplace[scores:] = (
            self._next(size) for size in (len(self._used), descriptions, earnings)
        )
        nothing = np.zeros(laplace.size)
        above, below = (np.sqrt(2.0 * np.maximum(sign * laplace, 0.0)) for sign in (1.0, -1.0))
        drawn = np.concatenate([normals, above, nothing, below, nothing])
        assert drawn.size == count
        return drawn

    def integers(self, scale: float, count: int) -> list[int]:
        """The next numbers as whole ones of this deviation, as the system gives them."""
        return [round(scale * value) for value in self._next(count)]

    laplace_integers = integers  # of this scale


class MomentTranscripts:
    """Two batches: one with the record, and one that must not know it."""

    def __init__(self, rules: CautiousRules, pair: NeighbouringShops, source: NoiseSource) -> None:
        self.learner = CautiousLearner(rules=rules, source=source, choice=pair.choice)
        self._pair = pair
        # A record that is not there is one that cannot be read: it keeps its slot.
        self._empty = Shopper(np.zeros(rules.model.contexts), 0.0, math.nan)

    def play(self, record: Shopper | None) -> FloatArray:
        """Two releases. Slots are counted on, so that no simulated noise is met twice."""
        learner, pair, released = self.learner, self._pair, list[FloatArray]()
        for first in (record, None):
            shoppers = [self._empty if first is None else first, *pair.company]
            contexts, prices, demands = (np.array(column) for column in zip(*shoppers, strict=True))
            coins, apart = np.full(len(shoppers), pair.coin), np.full(len(shoppers), pair.holdout)
            learner.begin(pair.choice)
            learner.absorb(contexts, prices, coins, demands, pair.theta, holdout=apart)
            sums = learner.release()
            released += [sums.score, sums.descriptions, sums.earnings]
        return np.concatenate(released)


def sizes_of(rules: CautiousRules) -> tuple[int, int, int]:
    """Numbers in each sum of a release."""
    event = rules.noise.event(rules.model.contexts, live=False)
    return entries(event.contexts), event.descriptions, 2


def _drawn(rules: CautiousRules, choice: int) -> tuple[int, int, int]:
    """Numbers of each sum that have noise."""
    _, descriptions, earnings = sizes_of(rules)
    return len(used_entries(rules.model.contexts, choice)), descriptions, earnings


def noise_map(rules: CautiousRules, choice: int, *, live: bool) -> FloatArray:
    """The matrix that noise, in its units, passes on its way to two releases of batches of this choice."""
    size = 2 * sum(_drawn(rules, choice))
    nobody = Shopper(np.zeros(rules.model.contexts), 0.0, 0.0)
    empty = NeighbouringShops(theta=np.zeros(rules.model.size), choice=choice, first=nobody, other=None)
    start = played(rules, empty, None, np.zeros(size), live=live)
    return np.stack([played(rules, empty, None, unit, live=live) - start for unit in np.eye(size)], axis=1)


class PairLoss(NamedTuple):
    """What hides a pair: epsilon of the scores and of the earnings, mu of the descriptions. Of both batches."""

    score: float
    description: float
    earnings: float

    def epsilon(self, delta: float) -> float:
        """Of all three together."""
        if not all(map(math.isfinite, self)):
            return math.inf
        pure = self.score + self.earnings
        return accountant.epsilon_of(Loss(pure=pure, mu_squared=self.description**2), delta)


def loss_of_pair(rules: CautiousRules, pair: NeighbouringShops, matrix: FloatArray, *, live: bool) -> PairLoss:
    """How well the pair can be told apart, from the noise that makes the second world publish what the first does.

    Laplace numbers cost the sum of their sizes, which some outcome reaches; Gaussian ones their length. Where no noise
    explains the difference, everything is infinite.
    """
    quiet = np.zeros(matrix.shape[1])
    first, other = (played(rules, pair, record, quiet, live=live) for record in (pair.first, pair.other))
    moved = first - other
    needed = np.asarray(np.linalg.lstsq(matrix, moved)[0], dtype=np.float64)
    if float(np.linalg.norm(matrix @ needed - moved)) > _LEAST * float(np.linalg.norm(moved)):
        return PairLoss(math.inf, math.inf, math.inf)
    split = np.cumsum(_drawn(rules, pair.choice))[:-1]
    scores, descriptions, earnings = np.split(needed.reshape(2, -1), split, axis=1)
    return PairLoss(float(np.abs(scores).sum()), float(np.linalg.norm(descriptions)), float(np.abs(earnings).sum()))


def played(
    rules: CautiousRules, pair: NeighbouringShops, record: Shopper | None, numbers: FloatArray, *, live: bool
) -> FloatArray:
    """Two releases with noise from a script."""
    script: Any = ScriptedMoments(rules, pair.choice, numbers)
    transcripts = MomentTranscripts(rules, pair, System() if live else script)
    if live:
        assert isinstance(transcripts.learner.event, LaplaceBatches)
        transcripts.learner.batch = ExactSums(event=transcripts.learner.event, source=script)
    return transcripts.play(record)


def worst_shops(rules: CautiousRules) -> NeighbouringShops:
    """The pair that is told apart best, of the kinds that docs/proofs/moments.md names: tried one after the other."""
    tried, losses = list[NeighbouringShops](), list[float]()
    for choice in range(len(SHARES)):
        matrix = noise_map(rules, choice, live=False)
        kinds = _kinds(rules, choice)
        tried += kinds
        lost = (loss_of_pair(rules, pair, matrix, live=False) for pair in kinds)
        losses += [each.epsilon(rules.noise.claimed.delta) for each in lost]
    return tried[int(np.argmax(losses))]


def audit_moments(rules: CautiousRules, *, live: bool = True, pairs: int = 8, seed: int = 0) -> list[Measurement]:
    """The largest loss of each sum and of all together, over the worst pairs and random ones beyond all bounds."""
    event, adjacency = rules.noise.event(rules.model.contexts, live=live), rules.noise.adjacency
    delta = rules.noise.claimed.delta
    random, found = np.random.default_rng(seed), dict[str, list[float]]()
    allowed = dict[str, float]()
    for choice, (common, personal) in enumerate(event.scales):
        score = f"score, choice {choice}"
        allowed[f"{score}, in the holdout"] = 0.0
        allowed[score] = sensitivity.of_sides(event.least, event.most, (1.0 / common, 1.0 / personal), adjacency)
        matrix = noise_map(rules, choice, live=live)
        for pair in (*_kinds(rules, choice), *(_random_pair(rules, choice, random) for _ in range(pairs))):
            lost = loss_of_pair(rules, pair, matrix, live=live)
            names = (f"{score}, in the holdout", _PARTS[0], _APART, _PARTS[2]) if pair.holdout else (score, *_PARTS)
            for name, value in zip(names, (*lost, lost.epsilon(delta)), strict=True):
                found.setdefault(name, []).append(value)
    charged = accountant.epsilon_of(loss_of(event, 1, adjacency), delta)
    apart, priced = event.earned_scales
    most = {
        _PARTS[0]: sensitivity.of_covariance(adjacency) / event.description_noise,
        _PARTS[1]: 1.0 / priced,
        _APART: 1.0 / apart,
        _PARTS[2]: charged,
    }
    return [
        Measurement(
            f"moments ({name}, {'live' if live else 'ideal'} noise, {adjacency.value})",
            max(found[name]),
            limit,
            max(found[name]) <= limit * (1.0 + _SLACK),
            f"largest {'mu' if name == _PARTS[0] else 'epsilon'} of {len(found[name])} neighbouring pairs: "
            f"pair {int(np.argmax(found[name]))}",
        )
        for name, limit in (allowed | most).items()
    ]


def _kinds(rules: CautiousRules, choice: int) -> list[NeighbouringShops]:
    """Records at the corners of what is allowed, at a belief by which the first one was sure not to buy, or sure to.

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
        made += [pair, _mirrored(rules, pair, demand)]
        if demand == 0.0:  # who buys at the dearest price earns most, and who does not, nothing
            made.append(replace(pair, holdout=True))
    return [replace(pair, other=None) for pair in made] if rules.noise.adjacency is Adjacency.ZERO_OUT else made


def _mirrored(rules: CautiousRules, pair: NeighbouringShops, demand: float) -> NeighbouringShops:
    """The pair with log-odds turned round: who was sure not to buy and did is sure to buy and did not."""
    assert pair.other is not None
    theta = -pair.theta
    theta[0] -= 2.0 * rules.model.level
    theta[rules.model.contexts + 1] -= 2.0 * rules.model.response
    return replace(
        pair, theta=theta, first=pair.first._replace(demand=0.0), other=pair.other._replace(demand=1.0 - demand)
    )


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
