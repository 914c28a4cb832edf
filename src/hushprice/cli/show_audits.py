"""Attacks and audits for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hushprice.cli import show

Runs = TypeVar("Runs", bound="WatchedRuns")

if TYPE_CHECKING:
    from hushprice.privacy.budget import EpsilonDelta
    from hushprice.research.audits.attack import Attack
    from hushprice.research.audits.finding import AuditFinding, Measurement, WatchedRuns
    from hushprice.research.audits.trade_off import Separation


def attacks(attacked: Sequence[Attack], files: Sequence[Path]) -> None:
    """Print what watchers gained."""
    attacked = _grouped(attacked)
    first = attacked[0]
    rows = [
        {
            "policy": each.label,
            "watcher": _watcher(each),
            "advantage": f"{each.advantage:.3f}",
            "interval": f"{each.low:.3f} to {each.high:.3f}",
            "allowed": "-" if each.allowed is None else f"{each.allowed:.3f}",
            "by": each.statistic,
            "privacy claimed": _privacy(each.claimed),
        }
        for each in attacked
    ]
    beaten = ", ".join(f"{each.label} ({each.story})" for each in attacked if each.refuted) or "none here"
    reading = [
        "Advantage: how much more often a test of what is seen says yes when it should than when it should not.",
        "Allowed: the most that claim and proof let anybody gain. A watcher of releases sees all that they cover.",
        f"Intervals hold together with confidence {first.confidence:g}. A cleverer watcher of prices may gain more.",
        f"Claims that a watcher beat: {beaten}.",
    ]
    seen = {(each.period, each.others) for each in attacked if each.watcher == "prices"}
    told = [f"Prices: the customer of period {period} watched, other customers {how}." for period, how in sorted(seen)]
    reading = [*told, *reading]
    _print(_title(attacked), rows, [*reading, *(f"wrote {file}" for file in files)])


def findings(audited: Sequence[AuditFinding], files: Sequence[Path]) -> None:
    """Print lower bounds on mu and epsilon beside what was stated."""
    audited = _grouped(audited)
    rows = [
        {
            "policy": each.label,
            "watcher": _watcher(each),
            "mu seen": _interval(each.seen),
            "mu proven": "-" if each.proven_mu is None else f"{each.proven_mu:.3f}",
            "epsilon >=": f"{each.epsilon_seen:.3g}",
            "stated": "-" if (stated := each.proven or each.claimed) is None else f"{stated.epsilon:.3g}",
            "seen": "-" if each.share is None else f"{100 * each.share:.0f} %",
            "verdict": "REFUTED" if each.refuted else "nothing claimed" if each.claimed is None else "not refuted",
        }
        for each in audited
    ]
    reading = [
        f"All lower ends hold together with confidence {audited[0].confidence:g}. One above what is proven refutes it.",
        "mu: the worlds are told apart as N(0, 1) is from N(mu, 1). Epsilon: what Gaussian noise of the lower end's mu",
        f"costs at delta {audited[0].delta:.2g}, beside what is stated of all releases; seen is their ratio.",
        "Of Laplace noise (cautious) mu proven is an equivalent, and epsilon is read off as the likelihood of events.",
        "Two records are the worst for releases, of paper for its covariances; of these two mu proven of paper is the",
        "most that noise, as stated, leaves to see: what is proven of its estimates allows more.",
        "An audit finds faults. That it finds none proves nothing.",
    ]
    _print(_title(audited), rows, [*reading, *(f"wrote {file}" for file in files)])


def _title(watched: Sequence[WatchedRuns]) -> str:
    first = watched[0]
    counts = {
        "prices" if each.watcher == "prices" else f"{each.policy}, {_watcher(each)}": each.runs for each in watched
    }
    runs = "\n".join(f"{count:,} runs of each world: {name}" for name, count in counts.items())
    return f"{first.horizon:,} customers, seed {first.seed}\n{runs}"


def _watcher(each: WatchedRuns) -> str:
    """Who watches, and what the two worlds differ by."""
    if each.watcher == "prices":
        return f"prices, {each.story}"
    return "live releases" if each.noise == "live" else each.part or "releases"


def _interval(seen: Separation) -> str:
    low, high = (f"{end:.3f}" if math.isfinite(end) else "?" for end in (seen.low, seen.high))
    return f"{seen.mu:.3f} ({low} to {high})" if math.isfinite(seen.mu) else f"{low} or more"


def _grouped(watched: Sequence[Runs]) -> list[Runs]:
    """The runs by policy, in the order asked for, prices last."""
    labels = list(dict.fromkeys(each.label for each in watched))
    return sorted(watched, key=lambda each: (labels.index(each.label), each.watcher == "prices"))


def _privacy(pair: EpsilonDelta | None) -> str:
    return "NOT PRIVATE" if pair is None else f"eps {pair.epsilon:g}, delta {pair.delta:.2g}"


def measurements(measured: Sequence[tuple[str, Measurement]], runs: int) -> None:
    """Print what a look inside the releasers measured, beside what is allowed."""
    rows = [
        {
            "policy": name,
            "measured": each.name,
            "found": f"{each.found:.6g}",
            "allowed": f"{each.allowed:.6g}",
            "verdict": "holds" if each.holds else "FAILS",
        }
        for name, each in measured
    ]
    reading = [f"{name}: {each.detail}" for name, each in measured]
    _print(f"Inside the releasers, {runs:,} draws a pair of neighbours", rows, reading)


_NUMBERS = {"advantage", "allowed", "epsilon >=", "mu proven", "stated", "seen"}


def _print(title: str, rows: Sequence[dict[str, str]], lines: Sequence[str]) -> None:
    headings = list(rows[0])
    out, view = show.console(), show.columns(headings, left=set(headings) - _NUMBERS)
    for row in rows:
        view.add_row(*row.values())
    out.print(f"{title}\n", soft_wrap=True)
    out.print(view)
    for line in ("", *lines):
        out.print(line, soft_wrap=True)
