"""Launches whose arguments are taken apart once, and which are then made again by one short call.

To launch a kernel with our arguments takes Python a third of a millisecond, nearly all of it to take tuples of arrays
apart. A turn of a thousand trials is often over sooner, so the device would wait for the host. So we listen to what
numba-cuda gives to the driver's launcher in the end, and give it the same again. (CUDA graphs would do without numba's
inside, but with many threads at work the driver let them wait for seconds to record one.)
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

from hushprice.simulation.gpu.toolkit import SIMULATED

_LOCK = threading.Lock()


class Replay:
    """What `launch` puts into this thread's queue; every call puts it there once more."""

    def __init__(self, launch: Callable[[], None]) -> None:
        self._again = launch if SIMULATED else taken_apart(launch, importlib.import_module("numba.cuda.dispatcher"))

    def __call__(self) -> None:
        self._again()


def taken_apart(launch: Callable[[], None], library: Any) -> Callable[[], None]:
    """A short call for it; the launch itself where the library has no such launcher, or launches several kernels."""
    listener = _listener(library)
    if listener is None:
        return launch
    heard = listener.hear(launch)
    return functools.partial(listener.real, *heard[0]) if len(heard) == 1 else launch


class Listener:
    """Stands where the library has its launcher. A thread that listens hears what would be launched; nothing is."""

    def __init__(self, real: Any) -> None:
        self.real, self._own = real, threading.local()

    def __call__(self, *arguments: Any) -> None:
        heard = getattr(self._own, "heard", None)
        if heard is None:
            self.real(*arguments)
        else:
            heard.append(arguments)

    def hear(self, launch: Callable[[], None]) -> list[tuple[Any, ...]]:
        """The arguments of each kernel's launch."""
        self._own.heard = heard = list[tuple[Any, ...]]()
        try:
            launch()
        finally:
            self._own.heard = None
        return heard


def _listener(library: Any) -> Listener | None:
    with _LOCK:
        real = getattr(library, "launch", None)
        if callable(real) and not isinstance(real, Listener):
            library.launch = Listener(real)
        return getattr(library, "launch", None)
