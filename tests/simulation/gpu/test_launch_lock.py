"""The launch lock: many at once, one exclusively, and the one does not wait forever."""

from __future__ import annotations

import threading

from hushprice.simulation.gpu.launch_lock import LaunchLock

LONG = 60.0


def test_many_are_inside_at_once() -> None:
    lock, both = LaunchLock(), threading.Barrier(2)

    def enter() -> None:
        with lock.shared():
            both.wait(LONG)

    threads = [threading.Thread(target=enter) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not both.broken


def test_one_alone_waits_for_those_inside_and_goes_before_those_that_come_later() -> None:
    lock, order = LaunchLock(), list[str]()
    waits = threading.Event()

    def alone() -> None:
        waits.set()
        with lock.exclusive():
            order.append("alone")

    def later() -> None:
        with lock.shared():
            order.append("later")

    with lock.shared():
        one = threading.Thread(target=alone)
        one.start()
        assert waits.wait(LONG)
        while not lock._waiting:  # it is inside `alone` a moment after it said so
            pass
        other = threading.Thread(target=later)
        other.start()
        order.append("first")
    one.join(LONG)
    other.join(LONG)
    assert order == ["first", "alone", "later"]
    with lock.exclusive():
        assert lock._sharing == 0
    with lock.shared():
        assert lock._sharing == 1


def test_a_failure_inside_leaves_the_gate_open() -> None:
    lock = LaunchLock()
    for way in (lock.shared, lock.exclusive):
        try:
            with way():
                raise ValueError("broken")
        except ValueError:
            pass
    with lock.exclusive():
        assert lock._sharing == 0
