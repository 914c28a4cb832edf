"""What must hold of noisy-newton's releases: the kernel's own source, played in two worlds that publish the same.

The first world is played with given noise. The second holds one other record and is made to publish the same, release
by release; the noise it needs for that is solved for. How far the two noises are apart, in standard deviations, is the
mu of this pair, adaptively chosen batches and weights included (docs/proofs/batches.md). No chance is involved.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from tests.planted import planting

from hushprice.demand.families import Logistic
from hushprice.demand.features import by_name, main_effects
from hushprice.numerics import tape
from hushprice.policies.newton import noise, rules
from hushprice.policies.newton.private import scores
from hushprice.privacy import gaussian
from hushprice.privacy.budget import EpsilonDelta
from hushprice.simulation.changed_record import GivenCustomer, world_of
from hushprice.simulation.kernels import newton
from hushprice.simulation.market import Market
from hushprice.simulation.tally import TOTALS
from hushprice.simulation.trial import newton_plan
from hushprice.simulation.world import TrialInput, TrialOutput
from hushprice.types import FloatArray

CLAIM = EpsilonDelta(1.0, 1e-6)
MARKET = Market(demand=Logistic(), features=main_effects(1), theta=np.array([0.3, 0.9]), contexts="uniform")
SCORE, CURVATURE = "score", "curvature"
Address = tuple[int, int]  # stream and period


class ToldApart(AssertionError):
    """No noise makes the second world publish what the first did."""


@dataclass
class Release:
    kind: str
    records: int
    values: FloatArray


@dataclass
class Played:
    """One world: what it drew and what it published; `follow` is the world whose releases it must repeat.

    A `blind` one is given them: it may hold any records, and nobody asks what noise that would take.
    """

    follow: Played | None = None
    blind: bool = False
    drawn: dict[Address, FloatArray] = field(default_factory=dict)
    releases: list[Release] = field(default_factory=list)
    squares: dict[str, float] = field(default_factory=lambda: {SCORE: 0.0, CURVATURE: 0.0})
    probe: dict[Address, FloatArray] | None = None  # draws that are tried, not kept

    def take(self, seed: int, trial: int, period: int, stream: int, out: FloatArray) -> None:
        """In place of tape.take_normals: independent by address, and the same where an address is asked for again."""
        at = (int(stream), int(period))
        if at in self.drawn:
            out[:] = self.drawn[at]
        elif self.probe is not None:
            out[:] = self.probe.setdefault(at, np.zeros(out.size))
        else:
            self.drawn[at] = np.random.default_rng([*at, 7]).normal(size=out.size)
            out[:] = self.drawn[at]

    def released(self, kind: str, records: int, real: Callable[..., None], given: tuple[Any, ...]) -> None:
        """One release, by the kernel's own function."""
        out = _published(kind, given)
        if self.follow is not None:
            self._match(kind, records, real, given)
        real(*given)
        if self.follow is not None:
            out[:] = self.follow.releases[len(self.releases)].values  # no rounding is carried on
        self.releases.append(Release(kind, records, out.copy()))

    def _match(self, kind: str, records: int, real: Callable[..., None], given: tuple[Any, ...]) -> None:
        assert self.follow is not None
        number = len(self.releases)
        if number >= len(self.follow.releases):
            raise ToldApart("one world publishes more than the other")
        seen = self.follow.releases[number]
        if (seen.kind, seen.records) != (kind, records):
            raise ToldApart(f"one world publishes a {seen.kind} at {seen.records}, the other a {kind} at {records}")

        def tried(probe: dict[Address, FloatArray]) -> FloatArray:
            self.probe = probe
            copies = copy.deepcopy(given)
            real(*copies)
            self.probe = None
            return _published(kind, copies)

        fresh: dict[Address, FloatArray] = {}
        tried(fresh)
        if not fresh.keys() <= self.follow.drawn.keys():
            raise ToldApart("one world draws noise that the other does not")
        start = {at: self.follow.drawn[at].copy() for at in fresh}
        if self.blind:
            return
        mean = tried(start)
        columns, places = [], [(at, n) for at in fresh for n in range(fresh[at].size)]
        for at, n in places:
            moved = {each: values.copy() for each, values in start.items()}
            moved[at][n] += 1.0
            columns.append(tried(moved) - mean)
        missing = seen.values - mean
        matrix = np.stack(columns, axis=1) if columns else np.zeros((missing.size, 1))
        needed = np.linalg.lstsq(matrix, missing)[0]
        if np.linalg.norm(matrix @ needed - missing) > 1e-9 * (1.0 + np.linalg.norm(seen.values)):
            raise ToldApart("noise that was used before cannot hide the difference")
        for (at, n), more in zip(places, needed, strict=False):
            start[at][n] += more
        self.drawn.update(start)
        self.squares[kind] += float(needed @ needed)


def _published(kind: str, given: tuple[Any, ...]) -> FloatArray:
    """What a release writes into."""
    return given[-1] if kind == SCORE else given[2].curvature


@functools.lru_cache(maxsize=32)
def _source(edits: tuple[tuple[str, str], ...]) -> tuple[Any, Any]:
    """The kernel and its scores from their own source, un-compiled, with the planted edits."""
    texts = {module: inspect.getsource(module) for module in (newton, scores)}
    for old, _ in edits:
        assert any(old in text for text in texts.values()), f"the planted bug no longer fits the source: {old}"
    codes = []
    for module, text in texts.items():
        for old, new in edits:
            text = text.replace(old, new)
        if module is scores and text == texts[module]:
            codes.append(None)  # the compiled one is faster
            continue
        text = re.sub(
            r"from hushprice.numerics.jit import .*", "step = inlined = merged = lambda function: function", text
        )
        codes.append(compile(text, module.__name__, "exec"))
    return codes[0], codes[1]


def kernel(world: Played) -> Any:
    """The kernel as it stands, bugs that are planted included, with its noise taken from `world`."""
    made, its_scores = _source(tuple(planting.EDITS))
    module = ModuleType("kernel")
    exec(made, module.__dict__)
    if its_scores is not None:
        module.scores = ModuleType("scores")  # type: ignore[attr-defined]
        exec(its_scores, module.scores.__dict__)
    names = ("uniform", "EXPLORATION", "COVARIANCE_NOISE", "ESTIMATE_NOISE")
    module.tape = SimpleNamespace(take_normals=world.take, **{name: getattr(tape, name) for name in names})  # type: ignore[attr-defined]
    curvature, score = module._release_curvature, module.release_score
    module._release_curvature = lambda *given: world.released(CURVATURE, given[-1], curvature, given)  # type: ignore[attr-defined]
    module.release_score = lambda *given: world.released(SCORE, given[3], score, given)  # type: ignore[attr-defined]
    return module


def settings(reference_price: float, *, trigger: bool = False) -> rules.NewtonRules:
    """The rules as bought, but for a first batch of 300 records: four blocks, all weighed by the first belief."""
    noise.calibrate.cache_clear()  # a planted bug may be in it, now or later
    made = rules.newton(CLAIM, demand=MARKET.demand, features=MARKET.features, reference_price=reference_price)
    noise.calibrate.cache_clear()
    return replace(made, first=300, trigger=rules.TRIGGER if trigger else 0.0)


def play(
    chosen: rules.NewtonRules,
    change: GivenCustomer | None = None,
    *,
    follow: Played | None = None,
    market: Market = MARKET,
    blind: bool = False,
    horizon: int = 1200,
) -> Played:
    """One world from its first customer to its last."""
    world, totals, periods = Played(follow, blind), np.zeros(TOTALS), np.zeros(horizon, dtype=np.int64)
    given = TrialInput(3, 0, horizon, np.zeros(2, dtype=np.int64), 1)
    output = TrialOutput(np.array([horizon]), np.zeros(1), totals, periods, np.zeros(0))
    kernel(world).run_newton(world_of(market, horizon, change, None), newton_plan(chosen, market), given, output)
    if follow is not None and len(world.releases) != len(follow.releases):
        raise ToldApart("one world publishes more than the other")
    return world


def shares(chosen: rules.NewtonRules, one: GivenCustomer, other: GivenCustomer) -> tuple[float, float]:
    """What scores and curvatures tell this pair apart by, as shares of the mu^2 that the claim stands for."""
    first = play(chosen, one)
    squares = play(chosen, other, follow=first).squares
    allowed = gaussian.mu_of(CLAIM.epsilon, CLAIM.delta) ** 2
    return squares[SCORE] / allowed, squares[CURVATURE] / allowed


# What scores and curvatures may come to, each alone. Together they come to no more than 1: where scores move by 2,
# curvatures move by 1, which is half the square of sqrt(2).
_TOGETHER = 1.0 - 0.5 * noise.CURVATURE_SHARE
SCORES, CURVATURES = (1.0 - noise.CURVATURE_SHARE) / _TOGETHER, noise.CURVATURE_SHARE / _TOGETHER


def _within(found: tuple[float, float]) -> None:
    score, curvature = found
    assert score <= SCORES * (1.0 + 1e-9), found
    assert curvature <= CURVATURES * (1.0 + 1e-9), found
    assert score + curvature <= 1.0 + 1e-9, found


def scores_keep_to_their_share() -> None:
    """At prices near 0 and a context near 0 features are short, no weight is capped, and a sale turns a score around.

    One of the two customers reports a demand that must be clipped.
    """
    pair = [GivenCustomer(period=1, context=[0.05], demand=demand) for demand in (-1.0, 1.0)]
    found = shares(settings(0.0), *pair)
    _within(found)
    assert found[0] > 0.97 * SCORES, found  # and it is reached


def no_curvature_tells_what_was_bought() -> None:
    pair = [GivenCustomer(period=1, context=[0.05], demand=demand) for demand in (0.0, 1.0)]
    score, curvature = shares(settings(0.5), *pair)
    assert score > 0.1
    assert curvature == 0.0


def curvatures_keep_to_their_share() -> None:
    """At price 1 the contexts 1 and -1 have orthogonal features, both with all the curvature a record may have."""
    pair = [GivenCustomer(period=1, context=[context], demand=0.0) for context in (1.0, -1.0)]
    found = shares(settings(1.0), *pair)
    _within(found)
    assert found[1] > 0.97 * CURVATURES, found


def batches_cut_by_releases_keep_to_their_share() -> None:
    """Later records, weighed by what was learned, in batches that end early."""
    chosen = settings(0.5, trigger=True)
    for period in (60, 500, 900):
        for one, other in ((0.0, 1.0), (1.0, -1.0), (-0.3, 0.4)):
            pair = (
                GivenCustomer(period=period, context=[one], demand=0.0),
                GivenCustomer(period=period, context=[other], demand=1.0),
            )
            _within(shares(chosen, *pair))


def batches_end_where_releases_say() -> None:
    """A world of other customers with another demand, given the releases of the first, ends its batches there too."""
    others = Market(
        demand=MARKET.demand,
        features=MARKET.features,
        theta=np.array([-0.9, 0.1]),
        contexts="file",
        rows=np.full((7, 1), 1e-3),
    )
    first = play(settings(0.0, trigger=True))
    early = [release.records for release in first.releases if release.kind == SCORE]
    assert early[0] < 300  # the trigger did end some
    play(settings(0.0, trigger=True), follow=first, market=others, blind=True)


def probes_begin_where_releases_say() -> None:
    """With an intercept every other batch may be a probe, which is shorter: the same ones whoever buys."""
    features = by_name("intercept", 1)
    loose = rules.newton(EpsilonDelta(50.0, 1e-6), demand=MARKET.demand, features=features)
    market, others = (
        Market(demand=MARKET.demand, features=features, theta=np.array(theta), **contexts)
        for theta, contexts in (
            ([0.1, 0.05, 0.9], {"contexts": "uniform"}),
            ([-0.9, 0.1, 0.1], {"contexts": "file", "rows": np.full((7, 1), 1e-3)}),
        )
    )
    first = play(loose, market=market)
    ends = np.array([release.records for release in first.releases if release.kind == SCORE])
    assert np.sum(ends[5:] / ends[4:-1] < 1.25) >= 2  # there were probes
    play(loose, follow=first, market=others, blind=True)
