"""A product proposed from a table: what was declared, what is exact and public, and what was bought with epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from hushprice.demand.attributes import OTHER_LEVEL
from hushprice.demand.schema import Attribute, Boolean, Category, Number
from hushprice.logs import fields
from hushprice.logs.digest import new_key
from hushprice.logs.read import source_of
from hushprice.logs.schema_plan import Declared, SchemaPlan, noise_for, plan_schema
from hushprice.logs.sources import Source
from hushprice.logs.table_cells import holds_rows, quantity_of, spread_of
from hushprice.logs.table_counts import Asker, RawCounts, Wanted, counted, stride_of
from hushprice.noise import NoiseSource, System
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.ledger import Ledger
from hushprice.product import LEAST_CONVERSION, MOST_CONTEXTS

DECLARED, EXACT, CHARGED = "declared", "exact", "charged"
MOST_LEVELS = 8  # of a category, beside "other"
ROOM = 0.2  # of today's price to either side, where prices hardly differ
USUAL_EPSILON, USUAL_DELTA = 0.1, 1e-9


@dataclass(frozen=True)
class Line:
    """A value, and where it comes from."""

    value: Any
    why: str


@dataclass(kw_only=True)
class Proposal:
    """A product to be read over, with where each line comes from. Nothing in it is raw data."""

    name: str
    plan: SchemaPlan
    product: dict[str, Line] = field(default_factory=dict)
    attributes: list[tuple[Attribute, str]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    ledger: Ledger | None = None  # None: nothing was asked
    noise: float = 0.0
    most_rows: int = 1
    sampled: int = 1  # one of so many rows, or customers

    @property
    def people(self) -> bool:
        """Is it a customer's rows that are protected, rather than one row?"""
        return self.plan.roles["customer"] is not None


def propose(
    table: object,
    *,
    declared: Declared | None = None,
    epsilon: float = USUAL_EPSILON,
    delta: float = USUAL_DELTA,
    most_rows: int = 1,
    noise: NoiseSource | None = None,
) -> Proposal:
    """The proposal for a table. Of rows it uses noisy counts alone, all of them within (epsilon, delta).

    Protected is one customer's rows, at most `most_rows` of which are counted, or where there is no customer key one
    row: neighbours have it, or them, replaced. The number of rows and the columns' names and types are public.
    """
    declared = declared or Declared()
    source = source_of(table)
    plan = plan_schema(source, declared)
    most = most_rows if plan.roles["customer"] is not None else 1
    live = noise is None or not noise.simulated
    bought = noise_for(plan, most=most, claimed=EpsilonDelta(epsilon, delta), live=live)
    proposal = Proposal(name=source.name, plan=plan, left_out=dict(plan.left_out), most_rows=most)
    proposal.sampled = stride_of(source.rows)
    asker, raw = None, RawCounts()
    if bought is not None:
        wanted = Wanted(
            numbers=[*plan.numbers, *([str(plan.roles["price"])] if plan.price else [])],
            texts=plan.texts,
            outcome=plan.roles["outcome"] if plan.outcome else None,
            customer=plan.roles["customer"],
        )
        raw = counted(source, wanted, most, new_key())
        asker = Asker(source=noise or System(), **bought.events)
        proposal.noise = bought.cells.noise
    _Writer(proposal, source, declared, raw, asker).write()
    proposal.ledger = None if asker is None else asker.ledger
    return proposal


class _Writer:
    """Fills a proposal in, question by question."""

    def __init__(
        self, proposal: Proposal, source: Source, declared: Declared, raw: RawCounts, asker: Asker | None
    ) -> None:
        self._to, self._source, self._declared, self._raw, self._asker = proposal, source, declared, raw, asker
        # Neighbours in one row have the same number of rows; neighbours in a customer need not.
        self._rows: float | None = None if proposal.people else -(-source.rows // proposal.sampled)

    def write(self) -> None:
        self._outcome()
        self._prices()
        entries = 0
        for name in self._to.plan.attributes:
            found = self._attribute(name)
            if isinstance(found, str):
                self._to.left_out[name] = found
            elif entries + len(found[0].entries) > MOST_CONTEXTS:
                self._to.left_out[name] = f"exact: a product has at most {MOST_CONTEXTS} entries; {found[1]}"
            else:
                entries += len(found[0].entries)
                self._to.attributes.append(found)

    def _cells(self, counts: Any) -> Any:
        assert self._asker is not None  # a plan with a question has one
        return self._asker.cells(counts)

    def _prices(self) -> None:
        if self._declared.prices is not None:
            names = ("floor", "reference_price", "ceiling")
            self._to.product |= {
                name: Line(value, DECLARED) for name, value in zip(names, self._declared.prices, strict=True)
            }
            return
        noisy = self._cells(self._raw.numbers[str(self._to.plan.roles["price"])])
        spread = spread_of(noisy, self._to.noise, self._rows)
        if spread is None or spread.middle <= 0.0:
            hidden = f"{CHARGED}: noise hides where prices are: declare --prices"
            self._to.product |= {name: Line(None, hidden) for name in ("floor", "reference_price", "ceiling")}
            return
        today = _rounded(spread.middle)
        low, high = min(max(spread.low, 0.0), (1.0 - ROOM) * today), max(spread.high, (1.0 + ROOM) * today)
        self._to.product |= {
            "floor": Line(_rounded(low), f"{CHARGED}: about 1 % of prices are lower, or {ROOM:.0%} below the middle"),
            "reference_price": Line(today, f"{CHARGED}: the middle price, to the width of a cell"),
            "ceiling": Line(_rounded(high), f"{CHARGED}: about 1 % of prices are higher, or {ROOM:.0%} above"),
        }

    def _outcome(self) -> None:
        bought = None
        if self._to.plan.outcome:
            noisy = self._cells(self._raw.outcome)
            bought = quantity_of(noisy, self._to.noise)
            if self._rows is None:  # of the cells that hold rows: all others are noise, which adds up
                self._rows = float(noisy[holds_rows(noisy, self._to.noise)].sum()) or None
        declared = self._declared
        if declared.most is not None:
            most = Line(declared.most, DECLARED)
        elif bought is None:
            most = Line(1.0, f"{CHARGED}: noise hides how many are bought: declare --most")
        else:
            most = Line(bought.most, f"{CHARGED}: one visitor in a thousand buys more")
        if declared.conversion is not None:
            conversion = Line(declared.conversion, DECLARED)
        elif bought is None or bought.mean is None:
            conversion = Line(None, f"{CHARGED}: noise hides how many are bought: declare --conversion")
        else:
            share = min(max(bought.mean / most.value, LEAST_CONVERSION), 1.0 - LEAST_CONVERSION)
            why = f"{CHARGED}: mean of the outcome, at all prices, give or take {bought.error:.2g}"
            conversion = Line(_rounded(share * most.value), why)
        self._to.product |= {"conversion": conversion, "most": most}

    def _attribute(self, name: str) -> tuple[Attribute, str] | str:
        import polars

        if name in self._declared.bounds:
            low, high = self._declared.bounds[name]
            return Number(name=name, low=low, high=high), DECLARED
        if name in self._declared.levels:
            return Category(name=name, levels=self._declared.levels[name]), DECLARED
        if self._source.types[name] == polars.Boolean:
            return Boolean(name=name), f"{EXACT}: its type"
        if name in self._raw.numbers:
            found = self._number(name)
            if isinstance(found, tuple) or name not in self._raw.texts:
                return found
        return self._levels(name)

    def _number(self, name: str) -> tuple[Attribute, str] | str:
        noisy = self._cells(self._raw.numbers[name])
        spread = spread_of(noisy, self._to.noise, self._rows)
        if spread is None:
            return f"{CHARGED}: noise hides where its numbers are: declare --bounds {name}=LOW:HIGH"
        low, high = spread.low, spread.high
        if self._source.types[name].is_integer():  # a cell [5, 5.3) holds 5
            low, high = math.ceil(low), math.ceil(high) - 1
        if not low < high:
            return f"{CHARGED}: it hardly varies"
        gaps = bool(holds_rows(noisy[-2], self._to.noise))
        number = Number(name=name, low=low, high=high, flag_missing=gaps)
        return number, f"{CHARGED}: about 98 % of numbers are inside" + ("; some are missing" if gaps else "")

    def _levels(self, name: str) -> tuple[Attribute, str] | str:
        assert self._asker is not None
        found = list(self._asker.texts(self._raw.texts[name]))
        if found and {text.strip().lower() for text in found} <= {*fields.YES, *fields.NO}:
            return Boolean(name=name), f"{CHARGED}: its frequent texts are yes and no"
        if not found:
            return f"{CHARGED}: no text is frequent enough to be shown: declare --levels {name}=..."
        levels = [text for text in found[:MOST_LEVELS] if text != OTHER_LEVEL]
        return Category(name=name, levels=(*levels, OTHER_LEVEL)), f"{CHARGED}: frequent texts, the first is the base"


def _rounded(value: float) -> float:
    """To four digits: more would say nothing."""
    return float(f"{value:.4g}")
