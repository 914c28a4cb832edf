"""Load, crashes, and a look at everything afterwards."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

from tests.service.crash import truth
from tests.service.crash.served import Served
from tests.service.crash.shoppers import PATIENT, Notes, Shopper, add_product
from tests.waiting import PATIENCE, eventually

SHOPPERS = 4
TOLD = 10  # outcomes a kill, at least; and a release


@dataclass
class Run:
    """What came of it."""

    kills: int = 0
    notes: Notes = field(default_factory=Notes)
    releases: int = 0
    seconds: list[float] = field(default_factory=list)  # until ready again, a kill
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        notes, worst = self.notes, max(self.seconds, default=0.0)
        return (
            f"{self.kills} kills, {len(notes.given)} quotes, {len(notes.told)} outcomes, {self.releases} releases, "
            f"{notes.unanswered} quotes without an answer, ready again after {worst:.1f} s at most; "
            f"{len(self.wrong)} problems"
        )


class Load:
    """Shoppers, while it lasts; at its end every one of them has an answer."""

    def __init__(self, served: Served, notes: Notes, seed: int = 0) -> None:
        self._notes = notes
        self._shoppers = [Shopper(served, notes, seed + number) for number in range(SHOPPERS)]

    def __enter__(self) -> Load:
        for shopper in self._shoppers:
            shopper.start()
        return self

    def __exit__(self, *_: object) -> None:
        for shopper in self._shoppers:
            shopper.leave()
        for shopper in self._shoppers:
            shopper.join(PATIENCE)
            self._notes.check(not shopper.is_alive(), "a shopper never got an answer")


def crashed(served: Served, kills: int, seed: int) -> Run:
    """Drive a service, kill it so often, end it and say what is wrong."""
    chance, run = random.Random(seed), Run()
    notes = run.notes
    served.start()
    for kind, changes in (("plain", {}), ("capped", {}), ("plain", PATIENT), ("cautious", {})):
        add_product(served, notes, kind, **changes)
    seen: truth.Observed = {}
    order: list[str] = []
    with Load(served, notes, seed):
        for _ in range(kills):
            order = order or chance.sample(served.kinds, len(served.kinds))
            kind = order.pop()
            time.sleep(chance.uniform(0.2, 1.2))
            seen = _busy(served, seen, run)
            time.sleep(chance.uniform(0.0, 0.6))
            served.crash(kind)
            run.kills += 1
            run.seconds.append(served.recover(kind))
            # Its first releases come at once.
            add_product(served, notes, chance.choice(("plain", "capped", "cautious")))
        seen = _busy(served, seen, run)
    served.end()
    seen = _look(served, seen, run)
    run.releases = len(seen)
    run.wrong += truth.wrong(served, notes)
    run.wrong += ["a traceback is in the log"] * ("Traceback" in served.log())
    return run


def _busy(served: Served, before: truth.Observed, run: Run) -> truth.Observed:
    """Go on once there is something that a crash could lose. It nearly always is there; a slow machine takes longer."""
    eventually(lambda: len(run.notes.told) > TOLD * run.kills)
    eventually(lambda: len(truth.releases(served.uri)) > run.kills)
    return _look(served, before, run)


def _look(served: Served, before: truth.Observed, run: Run) -> truth.Observed:
    """Not while it is down: opening a SQLite file would repair it, and that is the service's part."""
    after = truth.releases(served.uri)
    run.wrong += truth.changed(before, after)
    return after
