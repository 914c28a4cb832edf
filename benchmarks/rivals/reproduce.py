"""Each rival in its own paper's setting: one number or shape, beside what its authors report.

    python benchmarks/rivals/reproduce.py              # all; minutes on one core
    python benchmarks/rivals/reproduce.py mle-cycle    # one

Results go to benchmarks/rivals/reproduced.json.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from hushprice.noise import Tape
from hushprice.policies.rival_parts.frame import Customers, Frame
from hushprice.policies.rival_parts.private.directions import radius_of, send
from hushprice.policies.rival_parts.private.gram import GramReleaser
from hushprice.policies.rival_parts.walk import Walk
from hushprice.policies.rivals.ellipsoid.learner import EllipsoidCuts
from hushprice.policies.rivals.greedy_ils.learner import GreedyLeastSquares
from hushprice.policies.rivals.ldp_mab.pricing import ARMS, ReportedArms
from hushprice.policies.rivals.ldp_mab.private import report
from hushprice.policies.rivals.mishra.policy import levels_of, tight
from hushprice.policies.rivals.mishra.pricing import TreeArms
from hushprice.policies.rivals.mishra.private import LaplaceTree
from hushprice.policies.rivals.mle_cycle.learner import MleCycle
from hushprice.policies.rivals.shariff_sheffet.pricing import Belief
from hushprice.privacy.events import BitReports
from hushprice.types import FloatArray

RESULTS = Path(__file__).resolve().parent / "reproduced.json"
TRIALS = 20


def frame(horizon: int, contexts: int = 0, **changes: Any) -> Frame:
    given: dict[str, Any] = {"lowest": 0.0, "highest": 1.0, "slope": 1.0, "length": 1.0}
    size = contexts + 1
    return Frame(
        **given | {"horizon": horizon, "contexts": contexts, "dimension": size, "doubts": (1.0,) * size} | changes
    )


def slope(horizons: list[int], regrets: list[float]) -> float:
    """Of ln regret in ln T."""
    return float(np.polyfit(np.log(horizons), np.log(regrets), 1)[0])


def mle_cycle() -> dict[str, Any]:
    """Broder and Rusmevichientong: logistic, p in [0.5, 8], z = (1, -1), prices 0.5 and 4.25: slope 0.49."""
    horizon, at = 100_000, frame(100_000, lowest=0.5, highest=8.0)
    fine = np.linspace(0.5, 8.0, 20_001)
    best = float(np.max(fine / (1.0 + np.exp(fine - 1.0))))
    marks = [1000, 3000, 10_000, 30_000, 100_000]
    found = np.zeros(len(marks))
    for trial in range(TRIALS):
        rng, regret, done = np.random.default_rng(trial), np.empty(horizon), 0
        rival = MleCycle(at, rng, tried=(0.0, 0.5))
        while done < horizon:
            count = min(rival.due, horizon - done)
            came = Customers(np.empty((0, count)), np.zeros((1, count)), np.zeros((1, count)))
            prices = rival.prices(came)
            chance = 1.0 / (1.0 + np.exp(prices - 1.0))
            rival.learn(came, prices, (rng.random(count) < chance).astype(float))
            regret[done : done + count] = best - prices * chance
            done += count
        found += np.cumsum(regret)[np.array(marks) - 1] / TRIALS
    return {"reported": "log-log slope 0.49", "found": f"slope {slope(marks, found.tolist()):.2f}"}


def ellipsoid() -> dict[str, Any]:
    """Cohen, Lobel and Paes Leme: without noise, d^2 ln T: customers priced in the middle grow with ln T."""
    cut = []
    for horizon in (1000, 10_000, 100_000):
        at, rng, cuts = frame(horizon, 2), np.random.default_rng(1), 0
        rival, w = EllipsoidCuts(at, rng), np.array([0.5, 0.2, -0.15])
        for _ in range(min(horizon, 10_000)):
            x = rng.uniform(-1.0, 1.0, (2, 1))
            before = rival.center.copy()
            came = Customers(x, np.zeros((3, 1)), np.zeros((3, 1)))
            price = rival.prices(came)
            rival.learn(came, price, np.array([float(w[0] + w[1:] @ x[:, 0] >= price[0])]))
            cuts += int(not np.array_equal(before, rival.center))
            if rival.due > 1:
                break
        cut.append(cuts)
    steps = np.diff(cut)
    return {
        "reported": "d^2 ln T: as many more cuts for each ten times as many customers",
        "found": f"{cut[0]}, {cut[1]}, {cut[2]} cuts at T = 1e3, 1e4, 1e5 (d = 3): {steps[0]} and {steps[1]} more",
    }


def bandit(choose: Callable[[np.random.Generator, FloatArray, int], FloatArray], horizon: int) -> float:
    """Mean regret over trials with ten arms, means of demand 0.9 to 0.1: worth p mean."""
    means = np.linspace(0.9, 0.1, ARMS)
    worth = np.arange(1, ARMS + 1) / ARMS * means
    pulls = np.mean([choose(np.random.default_rng(trial), means, horizon) for trial in range(TRIALS)], axis=0)
    return float(pulls @ (worth.max() - worth))


def ldp_mab() -> dict[str, Any]:
    """Ren et al.: regret grows like ((e^eps + 1)/(e^eps - 1))^2."""
    regrets = []
    for epsilon in (1.0, 0.5):
        event = BitReports(keep=1.0 / (1.0 + math.exp(-epsilon)))

        def choose(rng: np.random.Generator, means: FloatArray, horizon: int, event: BitReports = event) -> FloatArray:
            arms, done = ReportedArms(frame(horizon), event.keep), 0
            while done < horizon:
                arm, count = arms.choose(), min(max(1, done // 100), horizon - done)
                arms.accept(arm, report((rng.random(count) < means[arm]).astype(float), event, rng))
                done += count
            return arms.pulls

        regrets.append(bandit(choose, 1_000_000))
    ratio = (math.tanh(0.5) / math.tanh(0.25)) ** 2
    return {
        "reported": f"regret at epsilon 0.5 over that at 1: up to {ratio:.2f}",
        "found": f"{regrets[1] / regrets[0]:.2f} ({regrets[1]:.0f} and {regrets[0]:.0f}, T = 1e6)",
    }


def mishra_ucb() -> dict[str, Any]:
    """Mishra and Thakurta: where noise dominates, regret grows like 1/epsilon, and like a power of ln T in T."""
    regrets = {}
    for epsilon in (0.1, 0.05):
        event, reach = tight(epsilon, 100_000)

        def choose(rng: np.random.Generator, means: FloatArray, horizon: int, e: Any = event, r: float = reach) -> Any:
            trees = [LaplaceTree(e, levels_of(horizon), rng) for _ in range(ARMS)]
            arms, done, pulls = TreeArms(frame(horizon), r), 0, np.zeros(ARMS)
            while done < horizon:
                arm, count = arms.choose(), min(max(1, done // 100), horizon - done)
                trees[arm].absorb((rng.random(count) < means[arm]).astype(float))
                pulls[arm] += count
                arms.accept(arm, int(pulls[arm]), trees[arm].release())
                done += count
            return pulls

        regrets[epsilon] = bandit(choose, 100_000)
    return {
        "reported": "a private part of regret that doubles when epsilon halves",
        "found": f"{regrets[0.05] / regrets[0.1]:.2f} times ({regrets[0.05]:.0f} and {regrets[0.1]:.0f}, T = 1e5)",
    }


def shariff_sheffet() -> dict[str, Any]:
    """Their figure without privacy: n = 1e5, 25 fresh arms a round, best mean 0.75, d = 4 to 64: 2.437 d^1.988."""
    horizon, sizes, regrets = 100_000, (4, 8, 16), []
    for d in sizes:
        total = 0.0
        for trial in range(2):
            rng = np.random.default_rng((d, trial))
            releaser = GramReleaser(d + 1, horizon, None, Tape(trial, 0))
            belief, done = Belief(d, horizon, 1.0, 0.0, size=1.0, deviation=1.0), 0
            while done < horizon:
                count = min(max(1, done // 20), 1000, horizon - done)
                means = np.concatenate([np.full((count, 1), 0.75), rng.uniform(-0.75, 0.75, (count, 24))], axis=1)
                arms = rng.standard_normal((count, 25, d - 1))
                arms *= (np.sqrt(1.0 - means**2) / np.linalg.norm(arms, axis=2))[:, :, None]
                arms = np.concatenate([means[:, :, None], arms], axis=2)  # theta is the first coordinate
                norm = np.sqrt(np.einsum("nkd,nkd->nk", arms @ belief.inverse, arms))
                chosen = np.argmax(arms @ belief.theta + belief.width * norm, axis=1)
                picked = arms[np.arange(count), chosen]
                reward = np.where(rng.random(count) < 0.5 + 0.5 * picked[:, 0], 1.0, -1.0)
                releaser.absorb_many(np.column_stack([picked, reward]) / math.sqrt(2.0))
                belief.accept(releaser.release())
                total += float((0.75 - picked[:, 0]).sum()) / 2
                done += count
        regrets.append(total)
    power = slope(list(sizes), regrets)
    return {
        "reported": "without privacy, regret 2.437 d^1.988 at n = 1e5 (d = 4 to 64): 38, 152, 604",
        "found": f"d^{power:.2f}: {', '.join(f'{each:.0f}' for each in regrets)} at d = 4, 8, 16; 2 trials",
    }


def greedy_ils() -> dict[str, Any]:
    """Keskin and Zeevi: greedy least squares sticks at a wrong price now and then; dispersed ones do not."""
    away = {}
    for dispersed in (False, True):
        ends = []
        for trial in range(TRIALS):
            rng, done = np.random.default_rng(trial), 0
            rival = GreedyLeastSquares(frame(20_000), rng, dispersed=dispersed)
            while done < 20_000:
                count = min(rival.due, 20_000 - done)
                came = Customers(np.empty((0, count)), np.zeros((1, count)), np.zeros((1, count)))
                prices = rival.prices(came)
                rival.learn(came, prices, (rng.random(count) < 0.9 - 0.8 * prices).astype(float))  # best: 0.5625
                done += count
            ends.append(abs(rival.coefficients[0] / (-2.0 * rival.coefficients[1]) - 0.5625))
        away[dispersed] = f"{np.sum(np.array(ends) > 0.05)} of {TRIALS}"
    return {
        "reported": "greedy sticks at a wrong price with positive probability, dispersed prices do not",
        "found": f"after 20,000 customers {away[False]} greedy and {away[True]} dispersed trials are off by 0.05",
    }


def ldp_sgd() -> dict[str, Any]:
    """Han et al.: logistic, d = 2, ten unit contexts a round as arms, epsilon 1: regret of order sqrt(T)."""
    keep, marks = 1.0 / (1.0 + math.exp(-1.0)), [5000, 20_000, 80_000]
    found, truth = np.zeros(3), np.array([0.6, 0.8])
    for trial in range(5):
        rng, regret, done = np.random.default_rng(trial), np.empty(80_000), 0
        walk = Walk(frame(80_000, 1), radius_of(2, keep))
        while done < 80_000:
            count = min(max(1, done // 500), 80_000 - done)
            arms = rng.standard_normal((count, 10, 2))
            arms /= np.linalg.norm(arms, axis=2, keepdims=True)
            chosen = arms[np.arange(count), np.argmax(arms @ walk.theta, axis=1)]
            chances = 1.0 / (1.0 + np.exp(-(arms @ truth)))
            chance = 1.0 / (1.0 + np.exp(-(chosen @ truth)))
            bought, sent = (rng.random(count) < chance).astype(float), np.empty((count, 2))
            coins = np.column_stack([rng.standard_normal((count, 2)), rng.random((count, 2))])
            send(walk.theta, chosen, np.zeros(count), bought, coins, keep, sent)
            walk.accept(sent)
            regret[done : done + count] = chances.max(axis=1) - chance
            done += count
        found += np.cumsum(regret)[np.array(marks) - 1] / 5
    return {
        "reported": "sqrt(T)/epsilon up to logarithms: slope about 0.5 or below",
        "found": f"slope {slope(marks, found.tolist()):.2f} from T = 5,000 to 80,000; 5 trials",
    }


SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "ellipsoid": ellipsoid,
    "ldp-mab": ldp_mab,
    "mle-cycle": mle_cycle,
    "greedy-ils": greedy_ils,
    "shariff-sheffet": shariff_sheffet,
    "ldp-sgd": ldp_sgd,
    "mishra-ucb": mishra_ucb,
}


def main() -> None:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or SECTIONS:
        results[name] = SECTIONS[name]()
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        print(name, results[name], flush=True)


if __name__ == "__main__":
    main()
