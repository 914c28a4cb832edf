"""Policy cautious on disk: what was released and planned, and the exact sums of the batch at hand. No record is in it.

The belief is fitted anew to all batches, so all of them are kept; the plan in force is kept too, not made again.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import msgspec
import numpy as np

from hushprice.demand.schema import Schema
from hushprice.errors import InvalidInput
from hushprice.policies.cautious.engine import KEY_BYTES, CautiousEngine
from hushprice.policies.cautious.policy import CautiousPolicy
from hushprice.policies.cautious.pricing import instruments, population
from hushprice.policies.cautious.pricing.belief import Belief, ReleasedBatch, Rule
from hushprice.policies.cautious.pricing.change import CHANGES, MINDED, Change
from hushprice.policies.cautious.pricing.health import Health
from hushprice.policies.cautious.pricing.planning import Past
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.pricing.shop_model import ShopModel
from hushprice.policies.cautious.pricing.warm import TRUST, WarmStart
from hushprice.policies.cautious.rules import CautiousRules
from hushprice.policies.saved_pricer import (
    SavablePricer,
    SavedPricer,
    Sensitive,
    common,
    is_finite,
    refuse_unsound,
    restore_slots,
    sound_slots,
)
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product import Product
from hushprice.releases import MomentRelease

LAYOUT = 2  # of a batch's sums and their noise. Before there were layouts all noise was Gaussian
OUTDATED = "was saved by an earlier version, whose policy cautious had other sums and noise: it cannot go on here"


class _Normal(msgspec.Struct, forbid_unknown_fields=True):
    """A belief as it is written: centre and covariance."""

    theta: np.ndarray
    covariance: np.ndarray


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    """A batch that was released, as the belief is fitted to it."""

    rule: Rule
    theta: np.ndarray
    score: np.ndarray
    noise: np.ndarray


class _Priced(msgspec.Struct, forbid_unknown_fields=True):
    """A batch as far as the guard asks."""

    rule: Rule
    theta: np.ndarray
    changes: list[Change]
    released: bool = True


class _Described(msgspec.Struct, forbid_unknown_fields=True):
    """What was released about contexts."""

    total: np.ndarray
    weight: float
    count: int


class _Released(msgspec.Struct, forbid_unknown_fields=True):
    """A batch's release, where the next one has not begun."""

    score: np.ndarray
    descriptions: np.ndarray
    earnings: np.ndarray
    records: int
    priced: int | None


class _SavedWarmStart(msgspec.Struct, forbid_unknown_fields=True):
    """The beliefs of a warm start, and the logarithms of their weights. The first ones follow from the rules."""

    beliefs: list[_Normal]
    weighed: list[float]


class EngineState(Sensitive, kw_only=True, forbid_unknown_fields=True):
    """A CautiousEngine, whoever drives it."""

    layout: int
    learned: int
    sums: bytes  # the releaser's own
    choice: int  # of the batch's instruments
    priced: int  # slots of the batch outside the holdout
    last: _Released | None
    key: bytes  # of the coins
    version: int
    follows: int  # slots before the batch at hand
    rule: Rule
    belief: _Normal
    origin: _Normal
    changed: int
    banked: float
    batches: list[_Batch]
    past: list[_Priced]
    population: _Described
    earned: np.ndarray
    clipped: tuple[int, int]  # features, demands
    health: Health
    switches: list[int] = msgspec.field(default_factory=list)
    warm: _SavedWarmStart | None = None  # there is a prior, and demand has not changed since


class Layout(msgspec.Struct):
    """As much of an engine's state as every version reads."""

    layout: int = 1

    @property
    def outdated(self) -> bool:
        return self.layout != LAYOUT


class _Laid(msgspec.Struct):
    cautious: Layout


def outdated(body: bytes) -> bool:
    """Is this pricer, in MessagePack, one of another layout? Asked before it is read: its fields are others."""
    return msgspec.msgpack.decode(body, type=_Laid).cautious.outdated


class _Policy(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A CautiousPolicy; the product's schema is the pricer's."""

    name: str
    product: dict[str, Any]
    rules: CautiousRules
    claimed: EpsilonDelta | None
    proven: EpsilonDelta | None


class State(SavedPricer, kw_only=True, forbid_unknown_fields=True, tag="cautious"):
    """A pricer that runs cautious."""

    policy: _Policy
    cautious: EngineState


def engine_state(engine: CautiousEngine) -> EngineState:
    """The engine's state as it is written."""
    learner, quoter = engine.learner, engine.quoter
    last, people = learner.last, quoter.population
    return EngineState(
        layout=LAYOUT,
        learned=learner.count,
        sums=learner.batch.state(),
        choice=learner.choice,
        priced=learner.priced,
        last=None
        if last is None
        else _Released(last.score, last.descriptions, last.earnings, last.records, last.priced),
        key=engine.key,
        version=quoter.version,
        follows=quoter.batch,
        rule=quoter.rule,
        belief=_Normal(quoter.belief.theta, quoter.belief.covariance),
        origin=_Normal(quoter.origin.theta, quoter.origin.covariance),
        changed=quoter.changed,
        banked=quoter.banked,
        batches=[_Batch(each.rule, each.theta, each.score, each.noise) for each in quoter.batches],
        past=[_Priced(each.rule, each.theta, each.changes, each.released) for each in quoter.past],
        population=_Described(people.total, people.weight, people.count),
        earned=quoter.earned,
        clipped=(learner.clipped_features, learner.clipped_demands),
        health=quoter.health,
        switches=list(engine.switches),
        warm=None if quoter.warm is None else _saved_warm_start(quoter.warm),
    )


def _saved_warm_start(warm: WarmStart) -> _SavedWarmStart:
    return _SavedWarmStart([_Normal(each.theta, each.covariance) for each in warm.beliefs], list(warm.weighed))


def restore_engine(state: EngineState, engine: CautiousEngine) -> None:
    """Make an engine that nothing happened to the one that was saved."""
    learner, quoter = engine.learner, engine.quoter
    refuse_unsound(_sound(state, quoter.model) | {"warm": _sound_warm_start(state, quoter)})
    if quoter.warm is not None:
        quoter.warm = None if state.warm is None else _restored(quoter.warm, state.warm)
    engine.key, engine.switches = state.key, list(state.switches)
    quoter.version, quoter.batch, quoter.rule, quoter.changed = state.version, state.follows, state.rule, state.changed
    quoter.belief = Belief(state.belief.theta, state.belief.covariance)
    quoter.origin = Belief(state.origin.theta, state.origin.covariance)
    quoter.batches = [
        ReleasedBatch(rule=each.rule, theta=each.theta, score=each.score, noise=each.noise) for each in state.batches
    ]
    quoter.past = [
        Past(rule=each.rule, theta=each.theta, changes=_all_changes(each.changes), released=each.released)
        for each in state.past
    ]
    people = quoter.population
    described = state.population
    people.total, people.weight, people.count = described.total, described.weight, described.count
    quoter.earned, quoter.banked, quoter.health = state.earned, state.banked, state.health
    learner.begin(state.choice)
    learner.batch.restore(state.sums)
    learner.count, learner.priced = state.learned, state.priced
    learner.clipped_features, learner.clipped_demands = state.clipped
    if state.last is not None:
        last = state.last
        sums = last.score, last.descriptions, last.earnings
        learner.last = MomentRelease(*sums, last.records, learner.event, last.priced)


def _all_changes(saved: list[Change]) -> list[Change]:
    """An earlier version kept the larger changes alone: of the others its releases say nothing."""
    return [*saved, *(Change(0.0, each.gain) for each in saved[: CHANGES - len(saved)])]


def state_of(pricer: SavablePricer) -> State:
    """The pricer's state as it is written."""
    state, policy = engine_state(pricer.engine), pricer.policy
    product = {name: value for name, value in asdict(policy.product).items() if name != "schema"}
    saved = _Policy(name=policy.name, product=product, rules=policy.rules, claimed=policy.claimed, proven=policy.proven)
    every = common(pricer, (*state.clipped, pricer.clipped_attributes), state.learned)
    return State(**every, policy=saved, cautious=state)


def policy_of(state: State) -> CautiousPolicy:
    """The policy that was saved."""
    saved = state.policy
    try:
        product = Product(**saved.product, schema=None if state.schema is None else Schema.from_dict(state.schema))
    except TypeError:  # a field that no product has
        raise InvalidInput("the saved product does not fit the rest of the pricer") from None
    return CautiousPolicy(
        name=saved.name,
        product=product,
        rules=saved.rules,
        adjacency=saved.rules.noise.adjacency,
        claimed=saved.claimed,
        proven=saved.proven,
    )


def restore(state: State, pricer: SavablePricer) -> None:
    """Make a pricer that nothing happened to the one that was saved."""
    learned = state.cautious.learned
    fits = sound_slots(state, pricer, learned)
    fits["clipped"] = fits["clipped"] and state.clipped[:2] == state.cautious.clipped
    refuse_unsound(fits)
    restore_engine(state.cautious, pricer.engine)
    pricer.clipped_attributes = state.clipped[2]
    restore_slots(state, pricer, learned)


def _sound(state: EngineState, model: ShopModel) -> dict[str, bool]:
    """What types cannot say. A state that fails this was written by something else than `engine_state`."""
    size, scores, described = model.size, instruments.entries(model.contexts), population.entries(model.contexts)
    learned, end, last = state.learned, state.follows + state.rule.count, state.last
    rules = [*(each.rule for each in state.batches), *(each.rule for each in state.past)]
    return {
        "layout": state.layout == LAYOUT,
        "learned": learned >= 0,
        "rule": state.rule.count >= 1 and _possible(state.rule, model),
        "rules": all(_possible(each, model) for each in rules),  # of a batch that was frozen all along nothing is left
        "follows": 0 <= state.follows <= learned <= end,
        "version": 0 <= state.version <= (min(learned, len(state.past)) if state.changed == 0 else learned),
        "banked": math.isfinite(state.banked),
        "changes": all(
            len(each.changes) in (MINDED, CHANGES)
            and all(math.isfinite(c.evidence) and math.isfinite(c.gain) for c in each.changes)
            for each in state.past
        ),
        "changed": 0 <= state.changed <= state.version,
        "priced": 0 <= state.priced <= learned - state.follows,
        "choice": 0 <= state.choice < len(instruments.SHARES),
        "last": last is None
        or (
            last.records == learned == end
            and last.priced == state.priced
            and is_finite(last.score, scores)
            and is_finite(last.descriptions, described)
            and is_finite(last.earnings, 2)
        ),
        "switches": state.switches == sorted(state.switches) and min(state.switches, default=1) >= 1,
        "key": len(state.key) == KEY_BYTES,
        "belief": _normal(state.belief, size),
        "origin": _normal(state.origin, size),
        "batches": len(state.batches) <= state.version
        and all(
            is_finite(each.theta, size)
            and is_finite(each.score, scores)
            and is_finite(each.noise, scores)
            and bool((each.noise >= 0.0).all())
            for each in state.batches
        ),
        "past": all(is_finite(each.theta, size) for each in state.past),
        "population": is_finite(state.population.total, described)
        and 0.0 <= state.population.weight <= float(state.follows) ** 2
        and 0 <= state.population.count <= state.follows,
        "earned": is_finite(state.earned, 2),
        "clipped": min(state.clipped) >= 0,
        "health": state.health.sound and state.health.batches == state.version,
    }


def _sound_warm_start(state: EngineState, quoter: CautiousQuoter) -> bool:
    """A warm start is there where the rules have a prior, until demand changes."""
    warm, expected = state.warm, quoter.warm is not None and state.changed == 0
    if warm is None:
        return not expected
    return (
        expected
        and len(warm.weighed) == len(warm.beliefs) == len(TRUST)
        and abs(sum(math.exp(min(each, 1.0)) for each in warm.weighed) - 1.0) < 1e-9
        and all(_normal(each, quoter.model.size) for each in warm.beliefs)
    )


def _restored(first: WarmStart, saved: _SavedWarmStart) -> WarmStart:
    beliefs = tuple(Belief(each.theta, each.covariance) for each in saved.beliefs)
    return replace(first, beliefs=beliefs, weighed=tuple(saved.weighed))


def _possible(rule: Rule, model: ShopModel) -> bool:
    return (
        rule.count >= 0
        and 0.0 <= rule.move <= 1.0
        and -1.0 <= rule.offset <= 1.0
        and 0.0 <= rule.spread <= model.widest
        and 0 <= rule.choice < len(instruments.SHARES)
    )


def _normal(belief: _Normal, size: int) -> bool:
    return is_finite(belief.theta, size) and is_finite(belief.covariance, size, size)
