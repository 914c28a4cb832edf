"""`hushprice.fit`: from a table to what it says about demand, at a stated cost."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from hushprice import checks
from hushprice.errors import InvalidInput
from hushprice.logs.bounded import BoundedLog, bounded
from hushprice.logs.columns import Columns
from hushprice.logs.fit.fit_noise import FitNoise, calibrate_fit
from hushprice.logs.fit.fit_result import CUSTOMER, ROW, Fit
from hushprice.logs.fit.passes_of_fit import FitState, played
from hushprice.logs.fit.unfinished import Unfinished, locked
from hushprice.logs.fit.whole_sums import Adding, published
from hushprice.logs.passes import SERIAL, run_pass
from hushprice.logs.read import REFUSE, TableLog, open_log
from hushprice.logs.rows import Log
from hushprice.noise import NoiseSource, System, Tape
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.certificates import canonical
from hushprice.privacy.delta import parse_delta
from hushprice.product import Product
from hushprice.product_file import load_product
from hushprice.types import FloatArray

ROWS = 64  # of a customer, at most: they add a mean, so more of them cost no noise
LEAST = 10  # rows, where their number is public: with fewer there is nothing to hide a row among
_USUAL = 100_000  # T of a delta such as 2/T^2, where the number of rows is not public
RunPass = Callable[..., list[int]]  # logs.passes.run_pass, or one that runs elsewhere
Advance = Callable[[int, int], None]  # steps done, steps in all


def fit(
    table: object,
    *,
    product: Product | str | Path,
    epsilon: float | None = None,
    delta: float | str | None = None,
    rows_per_customer: int = ROWS,
    output: str | Path | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    on_bad: str = REFUSE,
    seed: int | None = None,
    simulation: bool = False,
    progress: Advance | None = None,
    executor: str = SERIAL,
    workers: int | None = None,
    run: RunPass = run_pass,
) -> Fit:
    """A private fit of a whole log with the product's model.

    `table` is what `open_log` takes, or a Log. Where it has a customer column, the budget is for all rows of a customer
    together, of whom at most `rows_per_customer` count; otherwise for one row. With an `output` releases are on disk
    before they are used, and the same call goes on where it was stopped. `seed` is for simulation, which must be said.
    `executor` and `workers` are those of `run_pass`: the release is the same to the last digit wherever it ran.

    >>> import polars
    >>> product = Product(floor=20, ceiling=30, reference_price=25, conversion=0.5)
    >>> table = polars.DataFrame({"price": [22.0, 28.0] * 500, "bought": [True, False] * 500})
    >>> found = fit(table, product=product, epsilon=1.0, seed=1, simulation=True)
    >>> sorted(found.coefficients), found.unit, found.proven.epsilon <= 1.0
    (['level', 'response'], 'row', True)
    """
    source = _source(seed, simulation)
    checks.whole(1, rows_per_customer=rows_per_customer)
    if workers is not None and executor == SERIAL:
        raise InvalidInput(f"workers is for an executor of several processes, got {workers!r} and {executor!r}")
    described = load_product(product) if not isinstance(product, Product) else product
    log = table if _is_log(table) else open_log(table, product=product, columns=columns, on_bad=on_bad)
    kept = bounded(log, most=rows_per_customer)  # type: ignore[arg-type]
    unit = CUSTOMER if isinstance(kept, BoundedLog) else ROW
    rows = rows_per_customer if unit == CUSTOMER else 1
    if unit == ROW and getattr(log, "rows", LEAST) < LEAST:
        raise InvalidInput(f"the log must have at least {LEAST} rows, got {getattr(log, 'rows', 0)}")
    # Rows that are skipped keep their place in no sum: then the number of those that are left is not public.
    known = getattr(log, "rows", None) if unit == ROW and getattr(log, "on_bad", REFUSE) == REFUSE else None
    claimed = _claimed(described, epsilon, delta, getattr(log, "rows", _USUAL) if unit == ROW else _USUAL)
    noise = calibrate_fit(claimed, contexts=described.contexts, rows=rows, live=not source.simulated)
    path = None if output is None else Path(output)
    with nullcontext() if path is None else locked(path):
        if path is not None and path.exists():  # asked where nobody else can be making it
            raise InvalidInput(f"output {str(path)!r} exists already: another fit of the same rows is another budget")
        part = None if path is None else Unfinished(path, _asked(log, described, noise, source))
        before = [] if part is None else part.releases
        where = partial(run, executor=executor, workers=workers) if executor != SERIAL else run
        work = _Work(kept, source, where, progress, len(noise.event.releases))
        keep = work.nothing if part is None else part.keep
        state = played(described, noise, work.release, known=known, before=before, keep=keep)
        found = _result(state, described, unit, [*before, *work.made], simulated=source.simulated)
        if path is not None and part is not None:
            found.write(path)
            part.remove()
    return found


class _Work:
    """Passes over the log, counted for whoever watches."""

    def __init__(self, log: Log, source: NoiseSource, run: RunPass, progress: Advance | None, passes: int) -> None:
        self._log, self._source, self._run, self._progress, self._passes = log, source, run, progress, passes
        self.made: list[FloatArray] = []

    def release(self, adding: Adding, size: int, noise: float, number: int) -> FloatArray:
        total = self._run(self._log, adding, size, progress=self._advance(number))
        self.made.append(published(total, noise, self._source, number))
        return self.made[-1]

    def nothing(self, released: FloatArray) -> None:
        """Nobody asked for a file."""

    def _advance(self, number: int) -> Advance | None:
        if self._progress is None:
            return None
        tell = self._progress
        return lambda done, whole: tell(number * whole + done, self._passes * whole)


def _result(state: FitState, product: Product, unit: str, releases: list[FloatArray], *, simulated: bool) -> Fit:
    noise, belief = state.noise, state.belief
    attributes = (f"x{i + 1}" for i in range(product.contexts)) if product.schema is None else product.schema.names
    named = tuple(attributes)
    schema = None if product.schema is None else canonical.encode(product.schema.to_dict()).decode()
    return Fit(
        names=tuple(f"{part}{each}" for part in ("level", "response") for each in ("", *(f":{a}" for a in named))),
        theta=tuple(belief.theta.tolist()),
        covariance=tuple(tuple(row) for row in belief.covariance.tolist()),
        count=0.0 if state.moments is None else state.moments.units,
        known=state.known,
        unit=unit,
        event=noise.event,
        claimed=noise.claimed,
        proven=noise.proven,
        adjacency=noise.adjacency,
        releases=tuple(tuple(each.tolist()) for each in releases),
        product={
            name: float(getattr(product, name)) for name in ("level", "response", "reference_price", "reach", "most")
        },
        schema=schema,
        simulated=simulated,
    )


def _source(seed: int | None, simulation: bool) -> NoiseSource:
    if seed is None:
        if simulation:
            raise InvalidInput("simulation needs a seed")
        return System()
    if not simulation:
        raise InvalidInput(f"seed is for simulation alone, got {seed!r}: noise that can be replayed protects nobody")
    return Tape(seed, 0)


def _claimed(product: Product, epsilon: float | None, delta: float | str | None, count: int) -> EpsilonDelta:
    asked = product.epsilon if epsilon is None else epsilon
    checks.positive(epsilon=asked)
    return EpsilonDelta(float(asked), parse_delta(product.delta if delta is None else delta, max(count, 2)))


def _is_log(table: object) -> bool:
    return hasattr(table, "blocks") and hasattr(table, "partitions")


def _asked(log: object, product: Product, noise: FitNoise, source: NoiseSource) -> str:
    """A digest of what was asked for: a fit goes on only with the log, product and budget that it began with.

    Privacy does not rest on it, what the releases mean does.
    """
    identity = getattr(log, "identity", None)
    if isinstance(log, TableLog) and identity is not None:
        identity = identity[:-1]  # the key of customers' digests is another one in every process
    return hashlib.sha256(repr((identity, product, noise, repr(source))).encode()).hexdigest()
