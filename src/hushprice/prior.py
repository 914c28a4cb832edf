"""What a private fit of a log says about demand: a first belief for a product, with what it cost.

A fit.json holds at least an entry "prior" with the fields of `Prior` but `fit` and `same_people`: the first is the
digest of the file's content, the second is for whoever declares a product to say (docs/guide/warm_start.md).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import canonical
from hushprice.privacy.events import EarlierFit
from hushprice.privacy.loss import loss_of
from hushprice.types import FloatArray

ENTRY = "prior"  # of a fit.json
_BESIDE = ("fit", "same_people")
_MOST = 66  # entries of theta: a level and a response for the constant and for 32 entries of a context
_MOST_LEVEL, _MOST_RESPONSE = 10.0, 200.0  # no product has more (LEAST_CONVERSION and MOST_FALL of product.py)
_MOST_NUMBERS = 2**36  # as many as a certificate can state
_SYMMETRIC = 1e-9  # of the deviations: how far two halves of a covariance may differ, by rounding


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """N(theta, covariance) in the numbers of policies/cautious/pricing/shop_model.py, noise of the fit counted in."""

    theta: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    level: float  # of the product's model that theta is relative to: log-odds at today's price,
    response: float  # what they fall over one reach,
    reference_price: float
    reach: float
    claimed: EpsilonDelta  # what the fit cost whoever is in the log
    fit: str  # digest of the file it was read from
    same_people: bool = True  # may who is in the log also be a customer? Then budgets add up
    most: float = 1.0  # the largest quantity that one visitor could buy: demand is a share of it
    schema: str | None = None  # the attributes, as canonical JSON; None: not said, and their number must do
    adjacency: Adjacency = Adjacency.REPLACE_ONE  # what the claim is about
    mu: float | None = None  # the fit is mu-GDP; None: nothing but its claim is known
    numbers: int = 0  # noise numbers of the fit that were drawn on a grid
    whole_person: bool = False  # does the claim cover all rows of a person together?

    def __post_init__(self) -> None:
        size = len(self.theta)
        if size % 2 or not 2 <= size <= _MOST:
            raise InvalidInput(f"prior.theta must have an even number of entries, 2 to {_MOST}, got {size}")
        theta = checks.vector(size, **{"prior.theta": self.theta})
        object.__setattr__(self, "theta", tuple(theta.tolist()))
        checks.within(-_MOST_LEVEL, _MOST_LEVEL, **{"prior.level": self.level})
        named = ("response", "reference_price", "reach", "most")
        checks.positive(**{f"prior.{name}": getattr(self, name) for name in named})
        checks.within(0.0, _MOST_RESPONSE, **{"prior.response": self.response})
        if not (len(self.fit) == 64 and set(self.fit) <= set("0123456789abcdef")):
            raise InvalidInput(f"prior.fit must be a SHA-256 in hexadecimal, got {checks.shown(self.fit)}")
        checks.whole(0, **{"prior.numbers": self.numbers})
        checks.within(0, _MOST_NUMBERS, **{"prior.numbers": self.numbers})
        for name in ("same_people", "whole_person"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"prior.{name} must be True or False, got {checks.shown(getattr(self, name))}")
        if self.schema is not None:
            try:
                canonical.decode(self.schema.encode())
            except InvalidInput as problem:
                raise InvalidInput(f"prior.schema: {problem}") from None
        covariance = _checked_covariance(self.covariance, size)
        object.__setattr__(self, "covariance", tuple(map(tuple, covariance.tolist())))
        self._check_cost()

    def _check_cost(self) -> None:
        """Refuse a mu that says less than the claim."""
        paid = self._paid()
        if self.mu is not None:
            checks.probability(**{"prior.claimed.delta": self.claimed.delta})
            found = accountant.epsilon_of(loss_of(paid, 1, self.adjacency), self.claimed.delta)
            if not found <= self.claimed.epsilon * (1.0 + canonical.CLOSE):
                raise InvalidInput(
                    f"prior.mu {self.mu!r} needs epsilon {found!r}, above what is claimed, {self.claimed}"
                )

    @property
    def contexts(self) -> int:
        """How many numbers describe a customer."""
        return len(self.theta) // 2 - 1

    @property
    def paid(self) -> EarlierFit | None:
        """What a customer has paid already; None where nobody in the log can be a customer."""
        return self._paid() if self.same_people else None

    def _paid(self) -> EarlierFit:
        return EarlierFit(
            fit=self.fit,
            epsilon=self.claimed.epsilon,
            delta=self.claimed.delta,
            mu=self.mu,
            numbers=self.numbers,
            whole_person=self.whole_person,
        )

    def rebased(self, *, level: float, response: float, reference_price: float, reach: float) -> Self:
        """The same belief in the numbers of another product: the same demand at every price, by an affine map.

        With z = s + r z', s = (today' - today) / reach and r = reach' / reach, log-odds level + theta_1'x~ - (response
        + theta_2'x~) z are level + (theta_1 - s theta_2)'x~ - s response - r (response + theta_2'x~) z'.
        """
        theta, half = np.array(self.theta), len(self.theta) // 2
        moved, scaled = (reference_price - self.reference_price) / self.reach, reach / self.reach
        eye = np.eye(half)
        by = np.block([[eye, -moved * eye], [np.zeros((half, half)), scaled * eye]])
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
            theta = by @ theta
            theta[0] += self.level - moved * self.response - level
            theta[half] += scaled * self.response - response
            covariance = by @ np.array(self.covariance) @ by.T
            covariance = 0.5 * (covariance + covariance.T)
        return replace(
            self,
            theta=tuple(theta.tolist()),
            covariance=tuple(tuple(row) for row in covariance.tolist()),
            level=level,
            response=response,
            reference_price=reference_price,
            reach=reach,
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; `prior_of` reads it back."""
        plain = asdict(self) | {"adjacency": self.adjacency.value}
        plain["theta"], plain["covariance"] = list(self.theta), [list(row) for row in self.covariance]
        return plain


def first_difference(here: Any, there: Any) -> tuple[str, str]:
    """Where two schemas, as JSON has them, first differ: an attribute of each, or the whole where none does.

    >>> age = {"kind": "number", "name": "age", "low": 18}
    >>> first_difference({"attributes": [age]}, {"attributes": [age | {"low": 21}]})[1]
    '{"kind": "number", "name": "age", "low": 21}'
    """
    lists = [each.get("attributes") if isinstance(each, dict) else None for each in (here, there)]
    ours, theirs = ([*each, "nothing more"] if isinstance(each, list) else [] for each in lists)
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            return json.dumps(one), json.dumps(other)
    return json.dumps(here), json.dumps(there)


class _PriorEntry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The entry of a fit.json."""

    theta: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    level: float
    response: float
    reference_price: float
    reach: float
    claimed: EpsilonDelta
    most: float = 1.0
    schema: str | None = None
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    mu: float | None = None
    numbers: int = 0
    whole_person: bool = False


def prior_of(content: Mapping[str, Any]) -> Prior:
    """The prior in a fit.json's content, or the one that `to_dict` wrote; beside either, `same_people` may be said."""
    beside = {"same_people": content["same_people"]} if "same_people" in content else {}
    if ENTRY in content:
        whole = {name: value for name, value in content.items() if name != "same_people"}
        return _read(content[ENTRY], fit=digest(whole), **beside)
    if not isinstance(content.get("fit"), str):
        raise InvalidInput(f"prior must be what `hushprice fit` wrote, with an entry {ENTRY!r}")
    rest = {name: value for name, value in content.items() if name not in _BESIDE}
    return _read(rest, fit=content["fit"], **beside)


def read_prior(path: str | Path, *, same_people: bool = True) -> Prior:
    """The prior in a file that `hushprice fit` wrote.

    `same_people=False` says that nobody in the log can be a customer: the fit's budget is then not counted.
    """
    try:
        text = Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"prior {str(path)!r} cannot be read: {problem}") from None
    try:
        content = canonical.decode(text)
        if not isinstance(content, dict) or ENTRY not in content:
            raise InvalidInput(f"it has no entry {ENTRY!r}: `hushprice fit` writes one")
        return replace(prior_of(content), same_people=same_people)
    except InvalidInput as problem:
        raise InvalidInput(f"prior {str(path)!r}: {problem}") from None


def digest(content: Mapping[str, Any]) -> str:
    """What a fit is known by: SHA-256 of its content, however the file is indented and whoever wrote its numbers.

    >>> digest({"a": 1, "b": [0.5]}) == digest({"b": [0.5], "a": 1.0})
    True
    """
    return hashlib.sha256(canonical.encode(_as_floats(content))).hexdigest()


def _as_floats(value: Any) -> Any:
    """Whole numbers as floats: a browser writes 1.0 as 1."""
    if isinstance(value, Mapping):
        return {name: _as_floats(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_floats(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read(entry: object, **beside: Any) -> Prior:
    try:
        read = msgspec.convert(entry, _PriorEntry)
    except msgspec.ValidationError as problem:
        what, _, place = str(problem).partition(" - at `$")
        raise InvalidInput(f"{ENTRY}{place.rstrip('`')}: {what}") from None
    return Prior(**{name: getattr(read, name) for name in read.__struct_fields__}, **beside)


def _checked_covariance(rows: tuple[tuple[float, ...], ...], size: int) -> FloatArray:
    """The covariance; refused are a part of one, NaN, and a direction in which nothing is uncertain."""
    if len(rows) != size or any(len(row) != size for row in rows):
        raise InvalidInput(f"prior.covariance must have {size} rows of {size} entries, as theta has")
    covariance: FloatArray = np.array([checks.vector(size, **{"prior.covariance": row}) for row in rows])
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if not (np.abs(covariance - covariance.T) <= _SYMMETRIC * np.outer(deviations, deviations)).all():
        raise InvalidInput("prior.covariance must be symmetric")
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise InvalidInput("prior.covariance must be positive definite") from None
    return covariance
