"""Play a pricing method against an instance, one customer at a time. Needs NumPy alone, and imports no peer.

None of the peers is told the horizon, so the first 10,000 rounds of a longer run are the run of 10,000 rounds. A run
goes on to the end of the instance when those rounds went at `worth` rounds a second or more.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from instance import Instance

SHORT = 10_000
WORTH_GOING_ON = 2_000.0
CHECK_EVERY = 64


class Method(Protocol):
    """What an adapter makes of a peer. `learn` follows each `price` at once, with the price just named."""

    def price(self, x: list[float]) -> float: ...
    def learn(self, x: list[float], price: float, bought: int) -> None: ...


@dataclass(frozen=True)
class Entry:
    """A method by its settings, in words, how to make it from (length of x, seed), and when to make a long run."""

    settings: str
    make: Callable[[int, int], Method]
    worth: float = WORTH_GOING_ON  # rounds/s


def play(
    method: Method, instance: Instance, trial: int, limit: float, worth: float = WORTH_GOING_ON
) -> list[dict[str, Any]]:
    """One result a length reached: SHORT, the end, or wherever the limit in CPU seconds cut the run.

    The clock is the process's CPU time, which a shared machine disturbs less than the wall's. It holds choosing,
    learning and drawing the purchase (below a microsecond).
    """
    contexts: list[list[float]] = instance.contexts[trial].tolist()
    prices = np.empty(instance.horizon)
    stops = [SHORT, instance.horizon] if instance.horizon > SHORT else [instance.horizon]
    results: list[dict[str, Any]] = []
    started = time.process_time()
    for period, x in enumerate(contexts):
        prices[period] = price = method.price(x)
        method.learn(x, price, instance.buys(trial, period, price))
        done = period + 1
        if done % CHECK_EVERY and done not in stops:
            continue
        seconds = time.process_time() - started
        cut = seconds > limit and done not in stops
        if cut or done in stops:
            regret = instance.average_regret(trial, prices[:done])
            results.append({"rounds": done, "regret": regret, "seconds": seconds, "cut": cut})
        if cut or (done == SHORT and done / seconds < worth):
            break
    return results


def main(entries: dict[str, Entry]) -> None:
    """The command line of every adapter: one JSON line a trial, or the list of methods."""
    parser = argparse.ArgumentParser()
    parser.add_argument("instance", type=Path, nargs="?")
    parser.add_argument("--method", choices=sorted(entries))
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds a trial")
    parser.add_argument("--worth", type=float, help="rounds/s below which to stop at 10,000")
    given = parser.parse_args()
    if given.instance is None:
        print(json.dumps({name: entry.settings for name, entry in entries.items()}))
        return
    instance = Instance.load(given.instance)
    for trial in range(instance.trials):
        entry = entries[given.method]
        method = entry.make(instance.contexts.shape[2], trial)
        worth = entry.worth if given.worth is None else given.worth
        print(json.dumps(play(method, instance, trial, given.limit, worth)), flush=True)
