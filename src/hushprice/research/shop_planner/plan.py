"""Before the first visitor: what the default policy is expected to earn with this product, and what to compare it with.

Nothing here is a formula but the holdout's. The policy itself is run in worlds that the product's own numbers make
likely (`likely_worlds.py`), or in one that was given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hushprice import checks, extras
from hushprice.errors import InvalidInput
from hushprice.privacy.delta import parse_delta
from hushprice.product import Product, check_product
from hushprice.research.shop_planner.holdout import visitors_to_show
from hushprice.research.shop_planner.likely_worlds import likely_worlds
from hushprice.research.shop_planner.runs import DailyEarnings, ShopRun, play_all, shop_runs
from hushprice.settings import TRUST
from hushprice.shops.trials import Progress
from hushprice.shops.world import World
from hushprice.shops.worlds import Crowd
from hushprice.types import FloatArray

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

DAYS = 90
TRIALS = 24
COMPARED = 8  # shops, or a third of them if that is more, are run in every other way too
EPSILONS = (0.5, 1.0, 3.0)
HOLDOUT, DIFFERENCE = 0.1, 0.02
USUAL = 250_000  # visitors, beyond whom a plan takes more than a minute or so, and has to be asked for
MOST = 10_000_000
BAND = (0.1, 0.5, 0.9)
_SHOWN = (1, 3, 7, 14, 30, 60, 90, 180, 365)
PERSONAL, ONE_PRICE, TRIED = "personal prices", "one price, cautious", "one price, five tried"
OFF = "noise off"


@dataclass(frozen=True, kw_only=True)
class PlannedDay:
    """Earned more than staying, as a share of it, from the first day to the end of this one."""

    day: int
    visitors: int
    low: float  # a tenth of the shops is below
    median: float
    high: float  # a tenth is above
    mean: float


@dataclass(frozen=True, kw_only=True)
class PricingWay:
    """One way of pricing, in the shops that all ways were run in."""

    name: str
    gain: float  # the mean, at the end
    error: float | None  # its standard error; None with a single shop
    ahead: float | None  # by how much more than the policy's own pricing there, in the mean; None: it is the policy's
    ahead_error: float | None
    worst: float  # the least share of staying in any of these shops, at a moment after 1,000 visitors


@dataclass(frozen=True, kw_only=True)
class EpsilonPrice:
    """What one epsilon leaves to earn. Shops are the same for all."""

    epsilon: float | None  # None: noise off
    gain: float
    error: float | None
    cost: float  # below noise off
    cost_error: float | None  # smaller than `error`: luck is the same with noise and without


@dataclass(frozen=True, kw_only=True)
class TrustPrice:
    """What one trust model leaves to earn, in the same shops; the shop is trusted in the first of them."""

    trust: str
    gain: float
    error: float | None
    cost: float  # below the shop being trusted
    cost_error: float | None
    times: float | None  # as many customers are needed as where the shop is trusted, for the same gain; None: none do


@dataclass(frozen=True, kw_only=True)
class PlannedHoldout:
    """Visitors and days until a difference can be seen, with a power of 80 % at 5 %."""

    share: float
    difference: float
    visitors: int
    days: float


@dataclass(frozen=True, kw_only=True)
class WorstMoment:
    """The least share of staying at any moment after 1,000 visitors, against what risk allows."""

    risk: float
    least: float  # in all shops
    one_in_hundred: float | None  # a hundredth of the shops is below; None with fewer than a hundred
    beyond: int  # shops that were further behind than risk


@dataclass(frozen=True, kw_only=True, eq=False)
class ShopPlan:
    """A prediction for one product. `plan_shop` makes it."""

    product: Product
    visitors_per_day: int
    days: int
    trials: int
    seed: int
    delta: float
    given_world: bool  # False: one likely world a shop
    schedule: list[PlannedDay]  # the days that are shown
    curve: list[PlannedDay]  # all of them
    pays_from: int | None  # the first day from which the median stays above staying; None: not in these days
    ways: list[PricingWay]
    epsilons: list[EpsilonPrice]
    trusts: list[TrustPrice]  # none where no trust model was asked about
    holdout: PlannedHoldout
    worst: WorstMoment
    runs: dict[str, list[DailyEarnings]]  # by pricing, in every shop that it was run in
    seconds: float

    @property
    def main(self) -> str:
        """The policy's own pricing: one price where nothing is known of a visitor."""
        return _main(self.product)

    @property
    def compared(self) -> int:
        """Shops that all ways were run in."""
        return len(self.runs[TRIED])

    @property
    def best_way(self) -> PricingWay:
        """Which earns most: the policy's own, unless another is ahead by more than two standard errors."""
        own, *others = self.ways
        ahead = [way for way in others if way.ahead is not None and way.ahead > 2.0 * (way.ahead_error or 0.0)]
        return max(ahead, key=lambda way: way.gain, default=own)

    @property
    def advice(self) -> str:
        """personal, one price or stay."""
        best = self.best_way
        pays = self.pays_from is not None if best.name == self.main else best.gain > 0.0
        if not pays:
            return "stay"
        return "personal" if best.name == PERSONAL else "one price"

    def to_dict(self) -> dict[str, Any]:
        """The machine interface of `hushprice plan --product ... --format json`."""
        parts = ("schedule", "ways", "epsilons", "trusts")
        return {
            "epsilon": self.product.epsilon,
            "delta": self.delta,
            "risk": self.product.risk,
            "visitors_per_day": self.visitors_per_day,
            "days": self.days,
            "shops": self.trials,
            "compared_shops": self.compared,
            "seed": self.seed,
            "given_world": self.given_world,
            "advice": self.advice,
            "pays_from": self.pays_from,
            **{part: [asdict(each) for each in getattr(self, part)] for part in parts},
            "holdout": asdict(self.holdout),
            "worst": asdict(self.worst),
            "seconds": self.seconds,
        }

    def frame(self) -> polars.DataFrame:
        """One row a way of pricing, shop and day."""
        extras.require("polars")
        import polars

        rows = [(name, shop, run) for name, runs in self.runs.items() for shop, run in enumerate(runs)]
        return polars.DataFrame(
            {
                "pricing": [name for name, _, _ in rows for _ in range(self.days)],
                "shop": [shop for _, shop, _ in rows for _ in range(self.days)],
                "day": [day + 1 for _ in rows for day in range(self.days)],
                "earnings": np.concatenate([run.earnings for _, _, run in rows]),
                "staying": np.concatenate([run.staying for _, _, run in rows]),
            }
        )

    def plot(self) -> Figure:
        """Earnings over days with the band, and what each epsilon leaves."""
        from hushprice.research.shop_planner.picture import shop_plan_picture

        return shop_plan_picture(self)


def plan_shop(
    *,
    product: Product,
    visitors_per_day: int,
    days: int | None = None,
    epsilons: Sequence[float] = EPSILONS,
    trusts: Sequence[str] = (),
    show_difference: float = DIFFERENCE,
    holdout: float = HOLDOUT,
    world: World | None = None,
    customers: Crowd | None = None,
    trials: int = TRIALS,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    announce: Callable[[float], None] | None = None,
) -> ShopPlan:
    """Plan for a product: earnings by day, one price or personal ones, what each epsilon costs.

    `days` are 90, or as many as bring 250,000 visitors. Without a `world` every shop has its own, drawn from what the
    product says; `customers` come to it, or whoever the schema allows. The product's own epsilon is always planned;
    `epsilons` are set beside it, and so are trust models other than `central` (docs/guide/trust.md).
    """
    check_product(product)
    checks.whole(1, visitors_per_day=visitors_per_day)
    days = _days(visitors_per_day, days)
    checks.whole(1, trials=trials)
    checks.whole(0, seed=seed)
    if workers is not None:
        checks.whole(1, workers=workers)
    if world is not None and customers is not None:
        raise InvalidInput("customers come with the world; both are given")
    for each in epsilons:
        checks.positive(epsilon=each)
    for each_trust in trusts:
        checks.one_of(TRUST, trust=each_trust)
    needed = visitors_to_show(show_difference, conversion=product.share, holdout=holdout, units=math.ceil(product.most))
    promised = PlannedHoldout(
        share=float(holdout),
        difference=float(show_difference),
        visitors=needed,
        days=needed / visitors_per_day,
    )
    began = time.perf_counter()
    worlds = _worlds(product, world, customers, trials, seed)
    shops = shop_runs(product, worlds, visitors_per_day=visitors_per_day, days=days, seed=seed)
    asked = _asked(shops, sorted({float(each) for each in epsilons}), [each for each in TRUST[1:] if each in trusts])
    flat = [run for runs in asked.values() for run in runs]
    played = iter(play_all(flat, workers=workers, progress=progress, announce=announce))
    runs = {name: [next(played) for _ in some] for name, some in asked.items()}
    main = _main(product)
    curve = _curve([run.gains for run in runs[main]], visitors_per_day)
    return ShopPlan(
        product=product,
        visitors_per_day=visitors_per_day,
        days=days,
        trials=trials,
        seed=seed,
        delta=parse_delta(product.delta, visitors_per_day * days),
        given_world=world is not None,
        schedule=[each for each in curve if each.day in (*_SHOWN, days)],
        curve=curve,
        pays_from=_pays_from(curve),
        ways=[_way(name, main, runs) for name in (PERSONAL, ONE_PRICE, TRIED) if name in runs],
        epsilons=_epsilon_prices(product, runs),
        trusts=_trust_prices(product, runs),
        holdout=promised,
        worst=_worst([run.worst for run in runs[main]], product.risk),
        runs=runs,
        seconds=time.perf_counter() - began,
    )


def _days(visitors_per_day: int, days: int | None) -> int:
    if days is None:
        days = min(DAYS, max(1, USUAL // visitors_per_day))
    checks.whole(1, days=days)
    if not 2 <= days * visitors_per_day <= MOST:
        raise InvalidInput(
            f"days x visitors_per_day must be 2 to {MOST:,} visitors, got {days!r} x {visitors_per_day!r}"
        )
    return days


def _worlds(product: Product, world: World | None, crowd: Crowd | None, count: int, seed: int) -> list[World]:
    if world is not None:
        return [world] * count
    likely = likely_worlds(product, crowd, seed)
    return [likely.world(number) for number in range(count)]


def _asked(shops: list[ShopRun], epsilons: list[float], trusts: list[str]) -> dict[str, list[ShopRun]]:
    """Every run, by its pricing. The first is the plan; the others are beside it in some of its shops."""
    some, own = shops[: max(COMPARED, len(shops) // 3)], shops[0].product.epsilon
    asked = {(main := _main(shops[0].product)): shops}
    if main != ONE_PRICE:
        asked[ONE_PRICE] = [shop.without_attributes for shop in some]
    asked[TRIED] = [replace(shop, policy="one-price") for shop in some]
    for each in epsilons:
        if each != own:
            asked[_named(each)] = [replace(shop, product=replace(shop.product, epsilon=each)) for shop in some]
    asked.update({_trusted(each): [replace(shop, trust=each) for shop in some] for each in trusts})
    return {**asked, OFF: [replace(shop, noise=False) for shop in some]}


def _main(product: Product) -> str:
    return PERSONAL if product.contexts > 0 else ONE_PRICE


def _named(epsilon: float) -> str:
    return f"epsilon {epsilon!r}"


def _trusted(trust: str) -> str:
    return f"trust {trust}"


def _trust_prices(product: Product, runs: dict[str, list[DailyEarnings]]) -> list[TrustPrice]:
    """The trust models that were asked about, after `central`, with which they are compared."""
    asked = [trust for trust in TRUST if _trusted(trust) in runs]
    if not asked:
        return []
    central = runs[_main(product)][: len(runs[OFF])]
    own, found = _ends(central), {TRUST[0]: central, **{trust: runs[_trusted(trust)] for trust in asked}}
    gains = np.mean([run.gains for run in central], axis=0)
    prices = []
    for trust, played in found.items():
        ends = _ends(played)
        (gain, error), (cost, cost_error) = _mean(ends), _mean(own - ends)
        # The first day on which as much has been earned where the shop is trusted.
        earlier = np.flatnonzero(gains >= gain)
        sooner = gains.size / (1.0 + earlier[0]) if earlier.size else 1.0  # or even more was earned
        times = sooner if gain > 0.0 else None
        price = TrustPrice(trust=trust, gain=gain, error=error, cost=cost, cost_error=cost_error, times=times)
        prices.append(price)
    return prices


def _curve(gains: list[FloatArray], visitors_per_day: int) -> list[PlannedDay]:
    bands, means = np.quantile(gains, BAND, axis=0), np.mean(gains, axis=0)
    return [
        PlannedDay(
            day=day + 1,
            visitors=(day + 1) * visitors_per_day,
            low=float(bands[0, day]),
            median=float(bands[1, day]),
            high=float(bands[2, day]),
            mean=float(means[day]),
        )
        for day in range(means.size)
    ]


def _pays_from(curve: list[PlannedDay]) -> int | None:
    """The first day from which the median cumulative gain stays positive."""
    not_yet = max((each.day for each in curve if not each.median > 0.0), default=0)
    return None if not_yet == len(curve) else not_yet + 1


def _ends(runs: list[DailyEarnings]) -> FloatArray:
    return np.array([run.gains[-1] for run in runs])


def _mean(values: FloatArray) -> tuple[float, float | None]:
    """A mean and its standard error."""
    error = None if values.size < 2 else float(values.std(ddof=1) / np.sqrt(values.size))
    return float(values.mean()), error


def _way(name: str, main: str, runs: dict[str, list[DailyEarnings]]) -> PricingWay:
    count = len(runs[TRIED])
    gain, error = _mean(_ends(runs[name][:count]))
    ahead = (None, None) if name == main else _mean(_ends(runs[name]) - _ends(runs[main][:count]))
    worst = min(run.worst for run in runs[name][:count])
    return PricingWay(name=name, gain=gain, error=error, ahead=ahead[0], ahead_error=ahead[1], worst=worst)


def _epsilon_prices(product: Product, runs: dict[str, list[DailyEarnings]]) -> list[EpsilonPrice]:
    """What each epsilon costs, in order of epsilon, noise off last."""
    count, off = len(runs[OFF]), _ends(runs[OFF])
    found = {product.epsilon: _ends(runs[_main(product)][:count])}
    found.update({float(name.split()[1]): _ends(some) for name, some in runs.items() if name.startswith("epsilon ")})
    ordered: list[tuple[float | None, FloatArray]] = [*sorted(found.items()), (None, off)]
    priced = [(epsilon, *_mean(ends), *_mean(off - ends)) for epsilon, ends in ordered]
    return [
        EpsilonPrice(epsilon=epsilon, gain=gain, error=error, cost=cost, cost_error=cost_error)
        for epsilon, gain, error, cost, cost_error in priced
    ]


def _worst(shares: list[float], risk: float) -> WorstMoment:
    hundredth = float(np.quantile(shares, 0.01)) if len(shares) >= 100 else None
    beyond = sum(not share >= 1.0 - risk for share in shares)
    return WorstMoment(risk=risk, least=min(shares), one_in_hundred=hundredth, beyond=beyond)
