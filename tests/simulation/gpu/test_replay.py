"""Launches that are taken apart once. A real GPU makes them in gpu_full."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from hushprice.simulation.gpu.replay import taken_apart


class Library:
    """As numba-cuda does it: a kernel's arguments are taken apart, and a launcher gets them."""

    def __init__(self) -> None:
        self.launched: list[tuple[object, ...]] = []
        self.apart = 0
        self.launch = lambda *arguments: self.launched.append(arguments)

    def kernel(self, *arguments: object) -> None:
        self.apart += 1
        self.launch("queue", *arguments)


def test_arguments_are_taken_apart_once_and_the_launch_is_made_by_every_call() -> None:
    library = Library()
    again = taken_apart(lambda: library.kernel(1, 2), library)
    other = taken_apart(lambda: library.kernel(3), library)
    assert library.launched == []  # to take it apart launches nothing
    again()
    again()
    other()
    assert library.launched == [("queue", 1, 2), ("queue", 1, 2), ("queue", 3)]
    assert library.apart == 2
    library.kernel(4)  # as ever
    assert library.launched[-1] == ("queue", 4)


def test_while_one_thread_listens_others_launch() -> None:
    library = Library()

    def launch() -> None:
        other = threading.Thread(target=library.kernel, args=("other",))
        other.start()
        other.join()
        library.kernel("mine")

    again = taken_apart(launch, library)
    assert library.launched == [("queue", "other")]
    again()
    assert library.launched == [("queue", "other"), ("queue", "mine")]


def test_what_cannot_be_taken_apart_is_launched_as_it_is() -> None:
    def launch() -> None:
        library.kernel(1)
        library.kernel(2)

    library = Library()
    taken_apart(launch, library)()
    assert library.launched == [("queue", 1), ("queue", 2)]
    made = list[int]()
    taken_apart(lambda: made.append(1), SimpleNamespace())()
    assert made == [1]


def test_a_launch_that_fails_ends_the_listening() -> None:
    library = Library()

    def broken() -> None:
        raise ValueError("no such kernel")

    with pytest.raises(ValueError, match="no such kernel"):
        taken_apart(broken, library)
    library.kernel(1)
    assert library.launched == [("queue", 1)]


def test_the_library_has_its_launcher_where_we_look_for_it() -> None:
    """The name that the installed numba-cuda uses, where it is installed; without it, launches are made as they are."""
    dispatcher = pytest.importorskip("numba.cuda.dispatcher")
    if not hasattr(dispatcher, "LaunchConfig"):
        pytest.skip("numba's own CUDA target, which runs no kernels of ours")
    assert callable(dispatcher.launch)
