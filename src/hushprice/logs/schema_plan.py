"""What `hushprice schema` will ask of a table, settled before it looks: roles, questions, and the noise they get."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scipy.special import ndtri

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.sources import Source
from hushprice.privacy import gaussian
from hushprice.privacy.accountant import FAILED
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import RowCounts
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.sensitivity import of_counts

ADJACENCY = Adjacency.REPLACE_ONE
NAMES = {  # of columns, by which a role is guessed: a column's name is public
    "price": ("price", "price_shown", "shown_price", "unit_price"),
    "outcome": ("bought", "quantity", "purchased", "outcome", "purchase", "sold"),
    "customer": (
        "customer", "customer_id", "customerid", "cust", "cust_id", "user", "user_id", "userid", "person", "person_id",
        "household", "client", "client_id", "visitor", "visitor_id", "shopper", "shopper_id", "account", "account_id",
    ),
    "time": ("time", "timestamp", "date", "datetime", "visited_at", "when", "day", "created_at", "event_time"),
    "propensity": ("propensity",),
}  # fmt: skip
NEEDED = ("price", "outcome")
_MORE = 1e-3  # of the noise, by which it is raised until the claim covers the plan
_TRIES = 100


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the operator says, so that nobody has to ask the table."""

    roles: Mapping[str, str] = field(default_factory=dict)  # column by role; the empty text: none
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leave_out: Sequence[str] = ()
    prices: tuple[float, float, float] | None = None  # floor, today's, ceiling
    conversion: float | None = None
    most: float | None = None


@dataclass(frozen=True, kw_only=True)
class SchemaPlan:
    """Which column is which, and which columns are asked about, how."""

    roles: dict[str, str | None]
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    attributes: tuple[str, ...]  # columns that may describe a customer, in the table's order
    left_out: dict[str, str]  # columns that do not, and why
    price: bool  # is there a question about it?
    outcome: bool

    @property
    def cell_questions(self) -> int:
        return len(self.numbers) + self.price + self.outcome

    @property
    def text_questions(self) -> int:
        return len(self.texts)


def plan_schema(source: Source, declared: Declared) -> SchemaPlan:
    """The plan, a function of column names and types and of what was declared: nothing here reads a row."""
    import polars

    kinds = source.types
    roles = {role: _role(role, list(kinds), declared) for role in NAMES}
    taken = {name for name in roles.values() if name is not None}
    for name in (*declared.bounds, *declared.levels, *declared.leave_out):
        if name not in kinds:
            raise InvalidInput(f"the log has no column {name!r}, only {checks.shown(list(kinds))}")
    numbers, texts, attributes, left_out = [], [], [], {}
    for name, kind in kinds.items():
        if name in taken:
            continue
        known = name in declared.bounds or name in declared.levels
        if name in declared.leave_out:
            left_out[name] = "declared: left out"
        elif known or kind.is_numeric() or kind in (polars.String, polars.Categorical, polars.Enum, polars.Boolean):
            attributes.append(name)
            untold = not source.declared  # types of cells are part of what rows hold, so they are asked about too
            if not known and (kind.is_numeric() or (untold and kind == polars.String)):
                numbers.append(name)
            if not known and (
                kind in (polars.String, polars.Categorical, polars.Enum) or (untold and kind.is_numeric())
            ):
                texts.append(name)
        else:
            left_out[name] = f"exact: its type is {kind}, which no attribute has"
    return SchemaPlan(
        roles=roles, numbers=tuple(numbers), texts=tuple(texts), attributes=tuple(attributes), left_out=left_out,
        price=declared.prices is None, outcome=declared.conversion is None or declared.most is None,
    )  # fmt: skip


def _role(role: str, names: Sequence[str], declared: Declared) -> str | None:
    if role in declared.roles:
        name = declared.roles[role]
        if name == "" and role not in NEEDED:
            return None
        if name not in names:
            raise InvalidInput(f"the log has no column {checks.shown(name)} for its {role}, only {checks.shown(names)}")
        return name
    by_lower = {name.lower(): name for name in reversed(names)}
    found = next((by_lower[usual] for usual in NAMES[role] if usual in by_lower), None)
    if found is None and role in NEEDED:
        raise InvalidInput(f"say which column is the {role}: --{role} is missing, the log has {checks.shown(names)}")
    return found


@dataclass(frozen=True, kw_only=True)
class SchemaNoise:
    """The two kinds of question, with the ledger that covers all of the plan's."""

    cells: RowCounts
    texts: RowCounts
    ledger: Ledger

    @property
    def events(self) -> dict[str, Any]:
        return {"cells": self.cells, "texts": self.texts, "ledger": self.ledger}


def noise_for(plan: SchemaPlan, *, most: int, claimed: EpsilonDelta, live: bool) -> SchemaNoise | None:
    """The least noise, equal for all questions, whose plan the claim covers; None where nothing is asked."""
    questions = plan.cell_questions + plan.text_questions
    if questions == 0:
        return None
    checks.whole(1, most_rows=most)
    checks.positive(epsilon=claimed.epsilon)
    checks.probability(delta=claimed.delta)
    share = FAILED * claimed.delta / (max(plan.text_questions, 1) * most * (1.0 + math.exp(claimed.epsilon)))
    noise = (
        of_counts(most, ADJACENCY)
        * math.sqrt(questions)
        / gaussian.mu_of(claimed.epsilon, (1.0 - FAILED) * claimed.delta)
    )
    for _ in range(_TRIES):
        # 1e-6 more than the tail needs: the accountant charges for rounding
        threshold = most + noise * (1e-6 - float(ndtri(share)))
        cells = RowCounts(rows=most, noise=noise, live=live)
        texts = replace(cells, threshold=threshold)
        entries = [(cells, plan.cell_questions), (texts, plan.text_questions)]
        allowance = tuple(Entry(event, count) for event, count in entries if count)
        try:
            ledger = Ledger(adjacency=ADJACENCY, claimed=claimed, allowance=allowance)
        except InvalidInput:
            noise *= 1.0 + _MORE
            continue
        return SchemaNoise(cells=cells, texts=texts, ledger=ledger)
    raise InvalidInput(f"epsilon must be large enough for {questions} questions, got {claimed.epsilon!r}")
