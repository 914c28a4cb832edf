"""Does a plan agree with simulation in markets it was not built on?

A shop has a past: visitors at prices that varied by chance. From it come what the shop declares (conversion, a range of
elasticities) and the logit that `plan --world` with [fit] plans in. The truth is another family: probit, log-normal
willingness to pay, kinds of customers that attributes tell apart only in part. What is planned and what the policy then
earns in the truth must differ by at most a fifth of the gain, or by 0.01 of what staying earns. The luck is the same in
both, so that what differs is the plan's model and not the draw.

    python benchmarks/shops/plan_check.py --page      # some five minutes of one core; and its table into the page
    python benchmarks/shops/plan_check.py --days 50 --trials 16

Truths that the file of runs has are not run again: where the policy has changed, name another file.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import astuple, dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from hushprice.product import Product
from hushprice.research.shop_planner.runs import DailyEarnings, play_all, shop_runs
from hushprice.shops import worlds
from hushprice.shops.fitted import Fitted, fit_demand
from hushprice.shops.world import World
from hushprice.types import FloatArray
from shops import kept_runs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "shop_plan.md"
HEAD = "| truth | planned | simulated | difference | agrees |\n|---|---:|---:|---:|---|\n"
TODAY = 25.0
SHARE, LEAST = 0.2, 0.01  # of the gain; of what staying earns
PAST = 100_000
DOUBT = 1.5  # the range that the shop declares, around the elasticity of its past
LEVELS = (0.4, -0.5, 0.2, 0.3, -0.2, 0.5, 0.3, -0.3, 0.1)


@dataclass(frozen=True)
class Truth:
    """A world, and the prices that are allowed in it."""

    world: World
    contexts: int
    floor: float = 20.0
    ceiling: float = 30.0


def truths() -> dict[str, Truth]:
    """None of them is a logit with attribute x price terms, but for one with other customers than any plan draws."""
    probit = worlds.Probit(
        conversion=0.03, reference_price=TODAY, steepness=1.2, attributes=tuple(0.5 * each for each in LEVELS),
        crowd=worlds.mixed,
    )  # fmt: skip
    steep = worlds.Probit(conversion=0.5, reference_price=TODAY, steepness=2.5, attributes=(0.3, -0.3))
    wide = worlds.LogNormal(
        conversion=0.05, reference_price=TODAY, deviation=0.9, attributes=tuple(0.4 * each for each in LEVELS),
        crowd=worlds.mixed,
    )  # fmt: skip
    narrow = worlds.LogNormal(conversion=0.4, reference_price=TODAY, deviation=0.35, attributes=(0.4,))
    logit = worlds.Logit(
        conversion=0.02, reference_price=TODAY, elasticity=2.2, attributes=LEVELS,
        interactions=tuple(-0.5 * each for each in LEVELS), crowd=worlds.mixed,
    )  # fmt: skip
    return {
        "probit, 3 % buy": Truth(probit, 9),
        "probit, half buy": Truth(steep, 2),
        "log-normal, 5 % buy": Truth(wide, 9),
        "log-normal, 40 % buy, 0 to 2x": Truth(narrow, 1, floor=10.0, ceiling=50.0),
        "kinds of customers, 7 % buy": Truth(_kinds((0.15, 0.05, 0.02), (0.6, 2.0, 3.5), seed=17), 9),
        "kinds of customers, 60 % buy": Truth(_kinds((0.9, 0.4), (0.4, 3.0), seed=18), 9),
        "logit, other customers": Truth(logit, 9),
    }


def _kinds(conversions: tuple[float, ...], elasticities: tuple[float, ...], seed: int) -> worlds.LatentClasses:
    kinds = tuple(
        worlds.Logit(conversion=conversion, elasticity=elasticity, reference_price=TODAY, attributes=(0.0,) * 9)
        for conversion, elasticity in zip(conversions, elasticities, strict=True)
    )
    shift = np.random.default_rng(seed).normal(0.0, 0.7, (9, len(kinds)))
    return worlds.LatentClasses(kinds=kinds, shift=shift, crowd=worlds.mixed)


def declared(truth: Truth, past: int, seed: int) -> tuple[Product, Fitted]:
    """What a shop with such a past says of its product, and the demand fitted to it."""
    rng = np.random.default_rng(seed)
    contexts = np.asarray(truth.world.contexts(0, past, rng))
    prices = rng.uniform(truth.floor, truth.ceiling, past)
    sales = (rng.random(past) < truth.world.probabilities(0, contexts, prices)).astype(np.float64)
    near = np.abs(prices - TODAY) < 0.1 * (truth.ceiling - truth.floor)
    common = {"floor": truth.floor, "ceiling": truth.ceiling, "reference_price": TODAY, "contexts": truth.contexts}
    product = Product(**common, conversion=float(sales[near].mean()))  # type: ignore[arg-type]
    fitted = fit_demand(product, contexts, prices, sales)
    around = fitted.elasticity(contexts)
    return (
        Product(**common, conversion=product.conversion, elasticity=(around / DOUBT, around * DOUBT)),  # type: ignore[arg-type]
        fitted,
    )


@dataclass(frozen=True)
class PlanCheck:
    """Mean gains at the end."""

    planned: float
    simulated: float
    error: float  # standard error of their difference

    @property
    def agrees(self) -> bool:
        return abs(self.planned - self.simulated) <= max(SHARE * abs(self.simulated), LEAST)


def check(
    truth: Truth, *, visitors_per_day: int, days: int, trials: int, past: int = PAST, seed: int = 0,
    workers: int | None = None,
) -> PlanCheck:  # fmt: skip
    """Plan in the fitted world, simulate in the true one."""
    product, fitted = declared(truth, past, seed)
    asked = {"visitors_per_day": visitors_per_day, "days": days, "seed": seed}
    runs = [run for world in (fitted, truth.world) for run in shop_runs(product, [world] * trials, **asked)]
    played = play_all(runs, workers=workers)
    planned, simulated = (_ends(some) for some in (played[:trials], played[trials:]))
    error = float((planned - simulated).std(ddof=1) / np.sqrt(trials))
    return PlanCheck(float(planned.mean()), float(simulated.mean()), error)


def _ends(runs: list[DailyEarnings]) -> FloatArray:
    return np.array([run.gains[-1] for run in runs])


def play(job: kept_runs.Job) -> tuple[float, ...]:
    """One truth, by its name."""
    name, visitors_per_day, days, trials = job
    return astuple(check(truths()[name], visitors_per_day=visitors_per_day, days=days, trials=trials, workers=1))


def table(found: dict[str, PlanCheck]) -> str:
    """Markdown."""
    lines = []
    for name, each in found.items():
        difference = f"{100 * (each.planned - each.simulated):+.2f} +- {100 * each.error:.2f} %"
        gains = f"{100 * each.planned:+.2f} % | {100 * each.simulated:+.2f} %"
        lines.append(f"| {name} | {gains} | {difference} | {'yes' if each.agrees else 'NO'} |\n")
    return HEAD + "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--visitors-per-day", type=int, default=2000)
    parser.add_argument("--days", type=int, default=25)
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--page", action="store_true", help="also put the table into docs/guide/shop_plan.md")
    kept_runs.add_options(parser, "build/plan_check.jsonl")
    given = parser.parse_args()
    jobs = [(name, given.visitors_per_day, given.days, given.trials) for name in truths()]
    found = {job[0]: PlanCheck(*each) for job, each in kept_runs.play(play, jobs, given).items()}
    made = table(found)
    print(made)
    if given.page and len(found) == len(jobs):
        PAGE.write_text(re.sub(rf"{re.escape(HEAD)}(\|.*\n)*", lambda _: made, PAGE.read_text(), count=1))
    sys.exit(not all(each.agrees for each in found.values()))


if __name__ == "__main__":
    main()
