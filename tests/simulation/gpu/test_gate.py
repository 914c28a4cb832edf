"""The gate: many at once, one alone, and the one does not wait forever."""

from __future__ import annotations

import threading

from hushprice.simulation.gpu.gate import Gate

LONG = 60.0


def test_many_are_inside_at_once() -> None:
    gate, both = Gate(), threading.Barrier(2)

    def enter() -> None:
        with gate.shared():
            both.wait(LONG)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not both.broken


def test_one_alone_waits_for_those_inside_and_goes_before_those_that_come_later() -> None:
    gate, order = Gate(), list[str]()
    waits = threading.Event()

    def alone() -> None:
        waits.set()
        with gate.alone():
            order.append("alone")

    def later() -> None:
        with gate.shared():
            order.append("later")

    with gate.shared():
        one = threading.Thread(target=alone)
        one.start()
        assert waits.wait(LONG)
        while not gate._waiting:  # it is inside `alone` a moment after it said so
            pass
        other = threading.Thread(target=later)
        other.start()
        order.append("first")
    one.join(LONG)
    other.join(LONG)
    assert order == ["first", "alone", "later"]
    with gate.alone():
        assert gate._inside == 0
    with gate.shared():
        assert gate._inside == 1


def test_a_failure_inside_leaves_the_gate_open() -> None:
    gate = Gate()
    for way in (gate.shared, gate.alone):
        try:
            with way():
                raise ValueError("broken")
        except ValueError:
            pass
    with gate.alone():
        assert gate._inside == 0
