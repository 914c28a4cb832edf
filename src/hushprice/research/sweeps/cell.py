"""A cell: one setting of a sweep, known by its content, so that a changed setting never meets an old result."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.features import INTERACTIONS, MAIN, MAPS, by_name
from hushprice.errors import InvalidInput
from hushprice.numerics import jit
from hushprice.policies.protocol import Policy
from hushprice.settings import OPTIONS, PolicySettings
from hushprice.simulation.device import ChosenDevice
from hushprice.simulation.market import Market, paper_market
from hushprice.simulation.run import prepare
from hushprice.simulation.trial import Job

Content = dict[str, Any]
ABOVE = ("cli", "service", "client", "research")  # the import contract keeps trials from reading them
LIBRARIES = ("numpy", "scipy", "numba", "llvmlite")  # whose versions may change a last digit
REAL = ("epsilon", "delta", "epsilon_covariance", "epsilon_estimate", "price", "ridge", "width", "reference_price")


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell(PolicySettings):
    """What a result depends on, except which trials: the settings of `prepare`, and a feature map to see them through.

    `features` shows the same customers through another built-in map: theta keeps its entries, terms it lacks get 0.

    >>> cell = Cell(policy="random", horizon=1000)
    >>> cell == Cell(policy="random", horizon=1000), cell.key == Cell(policy="random", horizon=1000, epsilon=3.0).key
    (True, True)
    """

    dimension: int | None = None
    market: Market | None = None
    features: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # 2, 2.0 and NumPy's 2 are one setting
            value = getattr(self, field.name)
            plain = value.item() if isinstance(value, np.generic) else value
            if field.name in REAL and type(plain) is int and abs(plain) < 2**53:
                plain = float(plain)
            object.__setattr__(self, field.name, plain)

    def prepare(self) -> Job:
        """The job, with every setting checked; the work is done once."""
        return self._job

    @property
    def prepared(self) -> bool:
        """Has `prepare` been called?"""
        return "_job" in self.__dict__

    def prepare_with(self, built: Policy) -> Job:
        """The job, with the policy that another process built for these very settings: that is most of the work.

        Results are known by the settings, so any other policy would be taken for this one.
        """
        self.__dict__["_job"] = self._prepared(built)
        return self._job

    @property
    def content(self) -> Content:
        """Everything the result follows from, as plain values. What the policy does not read is not there."""
        job = self.prepare()
        content: Content = {"market": content_of(job.market), "horizon": job.horizon, "seed": job.seed}
        if not isinstance(job.policy, Policy):
            return {**content, "policy": self.policy, "budget": msgspec.to_builtins(job.budget)}
        built = job.policy
        content["policy"] = {
            "name": built.name,
            "calibration": built.calibration,
            "adjacency": built.adjacency.value,
            "claimed": msgspec.to_builtins(built.claimed),
            **built.settings,
        }
        if built.reads_budget:  # its noise follows from it, the market and the package
            content["budget"] = msgspec.to_builtins(job.budget)
        return content

    @functools.cached_property
    def key(self) -> str:
        """The address of its results on a CPU: a hash of its content and of the program that runs it."""
        return self._address(self.content)

    def key_at(self, chosen: ChosenDevice) -> str:
        """The address of its results from a place: on a GPU digits differ, so they never meet those of a CPU."""
        return self._address(self.content_at(chosen)) if chosen.content else self.key

    def content_at(self, chosen: ChosenDevice) -> Content:
        """The content, with the device it is run on unless that is a CPU."""
        return {**self.content, "device": chosen.content} if chosen.content else self.content

    def _address(self, content: Content) -> str:
        whole = {"content": content, "program": program(self.policy)}
        return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()

    @functools.cached_property
    def _job(self) -> Job:
        return self._prepared(self.policy)

    def _prepared(self, policy: str | Policy) -> Job:
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)} | {"policy": policy}
        if isinstance(policy, Policy):  # built with them
            given = {name: value for name, value in given.items() if name not in OPTIONS}
        if given.pop("features") is not None:
            if self.market is not None and self.dimension is not None:
                prepare(**given)  # which refuses both
            given |= {"market": self._with_features(), "dimension": None}
        job = prepare(**given)
        content_of(job.market)  # which refuses what has no address
        return job

    def _with_features(self) -> Market:
        market = self.market or paper_market(2 if self.dimension is None else self.dimension)
        return with_features(market, str(self.features))

    @functools.cached_property
    def _identity(self) -> bytes:
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if self.market is not None:
            given["market"] = content_of(self.market)
        return msgspec.json.encode(given, order="deterministic")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


def content_of(market: Market) -> Content:
    """A market as plain values, without its name; long tables as a hash. Parts of one's own have no such address."""
    demand, stream = market.demand, market.stream(1)
    if not isinstance(demand, (Logistic, Gaussian, Poisson)) or market.features.name not in MAPS:
        raise InvalidInput(f"market {market.name!r} has parts of your own; a sweep takes built-in demand and features")
    return {
        "family": demand.name,
        "demand": {name: float(value) for name, value in dataclasses.asdict(demand).items()},
        "features": market.features.name,
        "theta": market.theta.tolist(),
        "contexts": market.contexts,
        "table": _hash(stream.table),
        "weights": _hash(stream.weights),
    }


def with_features(market: Market, name: str) -> Market:
    """The market's customers through the built-in map of that name: theta keeps its entries, terms it lacks get 0."""
    before, after = market.features, by_name(name, market.features.contexts)
    if before.name not in MAPS or after.code < before.code:
        raise InvalidInput(f"features {name!r} lacks terms of the map {before.name!r} of market {market.name!r}")
    if after.code == before.code:
        return market
    intercept = np.zeros(1 if before.code == MAIN != after.code else 0)
    slopes = np.zeros(before.contexts if before.code != INTERACTIONS == after.code else 0)
    theta = np.concatenate([intercept, market.theta, slopes])
    return dataclasses.replace(market, features=after, theta=theta, name=f"{market.name}, {name}")


def program(policy: str) -> list[str]:
    """What runs a cell: this package up to the simulator, the libraries whose digits it shows, a policy of one's own.

    Of a policy of one's own it is the file that counts, not what that file imports.
    """
    module, colon, _ = policy.partition(":")
    return [*_package(), _module(module)] if colon else _package()


@functools.cache
def _package() -> list[str]:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    return [jit.source_digest(without=ABOVE), "compiled" if jit.COMPILED else "plain", *versions]


@functools.cache
def _module(name: str) -> str:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise InvalidInput(f"policy module {name!r} has no source file, so its results have no address")
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()


def _hash(table: np.ndarray[Any, Any]) -> str:
    return f"{table.shape} {hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()}"
