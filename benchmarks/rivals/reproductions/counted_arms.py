"""Ten arms without attributes: `ldp-mab`, `mishra-ucb` and `mishra-thompson`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from reproductions.settings import TRIALS, Found, frame

from hushprice.policies.rival_parts.private.laplace_tree import LaplaceTree
from hushprice.policies.rivals.ldp_mab.pricing import ARMS, ReportedArms
from hushprice.policies.rivals.ldp_mab.private import report
from hushprice.policies.rivals.mishra.policy import deviation_of, levels_of, tight
from hushprice.policies.rivals.mishra.pricing import BetaArms, TreeArms
from hushprice.privacy.events import BitReports
from hushprice.types import FloatArray


def bandit(choose: Callable[[np.random.Generator, FloatArray, int], FloatArray], horizon: int) -> float:
    """Mean regret over trials with ten arms, means of demand 0.9 to 0.1: worth p mean."""
    means = np.linspace(0.9, 0.1, ARMS)
    worth = np.arange(1, ARMS + 1) / ARMS * means
    pulls = np.mean([choose(np.random.default_rng(trial), means, horizon) for trial in range(TRIALS)], axis=0)
    return float(pulls @ (worth.max() - worth))


def ldp_mab() -> Found:
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


def tree_arms(epsilon: float, horizon: int, *, drawn: bool) -> float:
    """Mean regret of `mishra-thompson` (drawn) or `mishra-ucb`."""
    event, reach = tight(epsilon, horizon)
    drawn_by = {"reach": reach, "deviation": deviation_of(event)}

    def choose(rng: np.random.Generator, means: FloatArray, horizon: int) -> FloatArray:
        trees = [LaplaceTree(event, levels_of(horizon), rng) for _ in range(ARMS)]
        at = frame(horizon)
        arms = BetaArms(at, rng, **drawn_by) if drawn else TreeArms(at, reach)
        done, pulls = 0, np.zeros(ARMS)
        while done < horizon:
            arm, count = arms.choose(), min(max(1, done // 100), horizon - done)
            trees[arm].absorb((rng.random(count) < means[arm]).astype(float))
            pulls[arm] += count
            arms.accept(arm, int(pulls[arm]), trees[arm].release())
            done += count
        return pulls

    return bandit(choose, horizon)


def mishra_ucb() -> Found:
    """Mishra and Thakurta: where noise dominates, regret grows like 1/epsilon, and like a power of ln T in T."""
    whole, half = (tree_arms(epsilon, 1_000_000, drawn=False) for epsilon in (0.5, 0.25))
    return {
        "reported": "a private part of regret that doubles when epsilon halves",
        "found": f"{half / whole:.2f} times ({half:.0f} and {whole:.0f}, T = 1e6)",
    }


def mishra_thompson() -> Found:
    """Mishra and Thakurta: powers of ln T, over epsilon or its square."""
    short, long = (tree_arms(10.0, horizon, drawn=True) for horizon in (100_000, 1_000_000))
    half = tree_arms(5.0, 1_000_000, drawn=True)
    return {
        "reported": "powers of ln T over powers of epsilon: far below in proportion to T, and at least twice at half "
        "of epsilon",
        "found": f"{long / short:.2f} times at ten times T ({short:.0f} and {long:.0f} at T = 1e5 and 1e6, epsilon "
        f"10), {half / long:.2f} times at epsilon 5",
    }
