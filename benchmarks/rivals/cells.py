"""What is in the table: policies, places, horizons and epsilons, and the cells that they make."""

from __future__ import annotations

from typing import Any

TRIALS, FEWER = 4, 2  # FEWER: in a shop with a million customers
HORIZONS = (10_000, 100_000, 1_000_000)
EPSILONS = (0.2, 1.0, 10.0)
MARKETS = ("d = 2", "d = 3")
SHOPS = ("elastic", "classes, 60 % buy", "half buy")

# label: policy, settings; docs/guide/rivals.md says what each protects
PRIVATE: dict[str, tuple[str, dict[str, Any]]] = {
    "**noisy-newton**": ("noisy-newton", {}),
    "**cautious**": ("cautious", {}),
    "paper, tight": ("paper", {}),
    **{
        label: (name, {} if name == label else {"calibration": "published"})
        for label, name in (
            *(("almost-free",) * 2, ("shuffle-glm",) * 2, ("shuffle-glm, published", "shuffle-glm")),
            *(("offline-private",) * 2, ("shariff-sheffet",) * 2, ("shariff-sheffet, published", "shariff-sheffet")),
            ("shariff-sheffet-revenue",) * 2,
            ("shariff-sheffet-revenue, published", "shariff-sheffet-revenue"),
            ("one-price",) * 2,
            *(("mishra-thompson",) * 2, ("mishra-thompson, published", "mishra-thompson")),
            *(("mishra-ucb",) * 2, ("mishra-ucb, published", "mishra-ucb"), ("ldp-mab",) * 2),
            *(("glm-pricing",) * 2, ("ldp-sgd",) * 2, ("ldp-glm",) * 2, ("ldp-glm, published", "ldp-glm")),
            *(("tang",) * 2, ("tang, published", "tang"), ("glm-pricing-mixed",) * 2),
        )
    },
}
OPEN: dict[str, tuple[str, dict[str, Any]]] = {
    "fixed, best in hindsight": ("fixed", {}),
    "random": ("random", {}),
    "nonprivate": ("nonprivate", {}),
    **{
        name: (name, {})
        for name in (
            *("thompson", "ban-keskin", "ucb-glm", "wang-optimism", "glm-pricing-open", "glm-ucb", "rmlp"),
            *("mle-cycle", "greedy-ils", "greedy-ils-dispersed", "private-bisection", "ellipsoid"),
        )
    },
}
UNLIKE = ("tang", "tang, published", "glm-pricing-mixed")  # protect less, so they are in no comparison
MARKETS_ONLY = {"noisy-newton", "paper", "nonprivate", "fixed", "random"}
SHOPS_ONLY = {"cautious"}


def cells() -> list[tuple[str, str, int, float | None]]:
    """Label, place, horizon and epsilon of everything there is to measure, the quick ones first."""
    made: list[tuple[str, str, int, float | None]] = []
    for horizon in HORIZONS:
        for places in (MARKETS, SHOPS):
            for epsilon in (1.0, None, 0.2, 10.0):
                for label, (policy, settings) in (OPEN if epsilon is None else PRIVATE).items():
                    if runs_in(policy, settings, places):
                        made += [(label, place, horizon, epsilon) for place in places]
    return made


def runs_in(policy: str, settings: dict[str, Any], places: tuple[str, ...]) -> bool:
    """Does the policy run there? Shops take no calibration."""
    return policy not in SHOPS_ONLY if places == MARKETS else policy not in MARKETS_ONLY and not settings


def key(label: str, place: str, horizon: int, epsilon: float | None) -> str:
    return f"{label} | {place} | {horizon} | {epsilon}"


def policy_in(cell: str) -> str:
    """The policy of a key."""
    return cell.partition(" |")[0].strip("*").partition(",")[0]


def short(horizon: int) -> str:
    return f"{horizon:.0e}".replace("e+0", "e")
