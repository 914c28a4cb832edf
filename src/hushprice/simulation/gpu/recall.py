"""numba asks the same question thousands of times while it compiles one kernel: which of its `+` fits these types?

It tries all it has each time, a fifth of what compiling costs in Python. `recall` keeps the answers. It changes numba
from outside, so only a process that compiles one kernel and ends does that (ahead.py), and only with the versions of
numba it was read and measured with; with others compiling takes longer.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

_READ = {"numba": "0.68.", "numba-cuda": "0.30."}


def versions_read() -> bool:
    """Are numba and numba-cuda of the versions whose source was read?"""
    try:
        return all(importlib.metadata.version(name).startswith(version) for name, version in _READ.items())
    except importlib.metadata.PackageNotFoundError:
        return False


def recall() -> bool:
    """From now on, in this process; False where nothing was changed."""
    if not versions_read():
        return False
    install()
    return True


def install() -> None:
    """Keep answers, whatever the version."""
    functions: Any = importlib.import_module("numba.core.types.functions")
    settings: Any = importlib.import_module("numba.core.targetconfig").ConfigStack
    ask, answers = functions.BaseFunction.get_call_type, dict[Any, tuple[Any, Any, Any]]()

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = settings.top_or_none()  # an implementation is compiled with the settings of whoever asks first
        told = None if flags is None else flags.summary()
        question = id(self), id(context), tuple(args), tuple(dict(kws).items()), told
        if question not in answers:
            signature = ask(self, context, args, kws)
            answers[question] = signature, self._impl_keys[signature.args], self  # kept alive, or its id might return
        signature, implementation, _ = answers[question]
        self._impl_keys[signature.args] = implementation  # as asking does
        return signature

    functions.BaseFunction.get_call_type = get_call_type
