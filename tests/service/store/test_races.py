"""Outcomes told while deadlines pass: what was acknowledged as recorded is what the learner gets, and nothing else."""

from __future__ import annotations

import threading

from tests.service.conftest import as_quoter
from tests.service.store.samples import PRODUCT, given, tell

from hushprice.service.store import open_store
from hushprice.service.store.protocol import LearnerStore, QuoterStore


def test_every_outcome_is_learned_as_it_was_acknowledged(
    store_uri: str, quoter: QuoterStore, learner: LearnerStore
) -> None:
    learner.beat(0.0)
    names = given(learner, 40, window=1.0)
    told: dict[str, str] = {}
    begun, passed = threading.Barrier(3), threading.Event()

    def tell_all(store: QuoterStore, own: list[str]) -> None:
        begun.wait()
        for name in own[:-1]:
            told[name] = tell(store, name).status
        passed.wait()  # the others may all be told before the clock gets its turn; this one is late in any case
        told[own[-1]] = tell(store, own[-1]).status

    other = open_store(as_quoter(store_uri), "quoter")
    threads = [
        threading.Thread(target=tell_all, args=(store, names[part::2])) for part, store in enumerate((quoter, other))
    ]
    for thread in threads:
        thread.start()
    begun.wait()
    while len(told) < 12:
        pass
    try:
        learner.beat(2.0)
        handed = learner.due(PRODUCT, 0, 100)  # what is handed out now may be in a release
    finally:
        passed.set()
    for thread in threads:
        thread.join()
    other.close()
    assert set(told.values()) == {"recorded", "late"}
    assert [slot.demand for slot in handed] == [1.0 if told[name] == "recorded" else None for name in names]
    assert learner.due(PRODUCT, 0, 100) == handed
