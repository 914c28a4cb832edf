"""What the page of rivals begins with: ours beside the best private rival, in words, tables and curves."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from rivals.cells import EPSILONS, HORIZONS, MARKETS, PRIVATE, SHOPS, UNLIKE, key, short


def lead(results: dict[str, Any], places: tuple[str, ...]) -> str:
    """Ours beside the best private rival of each cell: so many times less regret, or so much more earned."""
    names = [place.partition(",")[0] for place in places]
    lines = [f"| epsilon | customers | {' | '.join(names)} |", "|---:|---:|" + "---|" * len(names)]
    for epsilon in EPSILONS:
        for horizon in HORIZONS:
            row = [beside(results, place, horizon, epsilon) for place in places]
            lines.append(f"| {epsilon:g} | {short(horizon)} | {' | '.join(row)} |")
    return "\n".join(lines)


def beside(results: dict[str, Any], place: str, horizon: int, epsilon: float) -> str:
    """A cell of that table: how far, and who the rival is."""
    both = pair(results, place, horizon, epsilon)
    if both is None:
        return "-"
    ours, best, name = both
    if place in SHOPS:
        return f"{ours['mean'] - best['mean']:+.3f} {name}"
    return f"{best['mean'] / ours['mean']:.1f} times: {name}"


def pair(results: dict[str, Any], place: str, horizon: int, epsilon: float) -> tuple[Any, Any, str] | None:
    """What was found of ours and of the best private rival of a cell, and who that is."""
    ours = "**cautious**" if place in SHOPS else "**noisy-newton**"
    found = {label: results.get(key(label, place, horizon, epsilon)) for label in PRIVATE if label not in UNLIKE}
    means = {label: each["mean"] for label, each in found.items() if each and label != ours}
    if not means or not found[ours]:
        return None
    best = (max if place in SHOPS else min)(means, key=lambda label: means[label])
    return found[ours], found[best], best


def answer(results: dict[str, Any]) -> str:
    """Who is ahead, and by how much, over all cells: what the page begins with."""
    grid = [(horizon, epsilon) for epsilon in EPSILONS for horizon in HORIZONS]
    markets = [both for at in grid for place in MARKETS if (both := pair(results, place, *at))]
    times = [best["mean"] / ours["mean"] for ours, best, _ in markets]
    shops = {(place, *at): both for at in grid for place in SHOPS if (both := pair(results, place, *at))}
    behind = []
    for (place, horizon, epsilon), (ours, best, name) in shops.items():
        gap = best["mean"] - ours["mean"]
        if gap > 2.0 * math.hypot(ours["error"], best["error"]):
            where = f"{place.partition(',')[0]}, epsilon {epsilon:g}, {short(horizon)}"
            behind.append(f"{where}: {gap:.3f} behind `{name}`")
    ahead = sum(ours["mean"] >= best["mean"] for ours, best, _ in shops.values())
    won, few, many = sum(each >= 1.0 for each in times), min(times), max(times)
    markets_line = (
        f"- **In the paper's markets** `noisy-newton` loses least in {won} of {len(times)} cells; the next best loses "
        f"{few:.1f} to {many:.1f} times as much."
    )
    shops_line = (
        f"- **In shops** `cautious` earns most in {ahead} of {len(shops)} cells. By more than two errors it is behind "
        f"in {len(behind)}{': ' * bool(behind)}{'; '.join(behind)}."
    )
    lines = (markets_line, shops_line)
    return "\n".join(textwrap.fill(line, 118, subsequent_indent="  ", break_on_hyphens=False) for line in lines)


def curves(results: dict[str, Any], places: tuple[str, ...]) -> dict[str, list[tuple[float, float]]]:
    """By policy, ours first: epsilon and the mean over places with 100,000 customers, where they all were measured."""
    made: dict[str, list[tuple[float, float]]] = {}
    for label in PRIVATE:
        if "published" in label or label in UNLIKE:
            continue
        for epsilon in EPSILONS:
            found = [results.get(key(label, place, 100_000, epsilon)) for place in places]
            means = [each["mean"] for each in found if each]
            if len(means) == len(places):
                made.setdefault(label.strip("*"), []).append((epsilon, sum(means) / len(means)))
    return made
