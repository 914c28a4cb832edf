"""How a bug is planted: a context that changes the real code while it lasts.

Compiled steps cannot be changed from outside, so a bug sits where Python calls them, or in their source (`edited`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

Bug = Callable[[], Any]


def changed(owner: Any, name: str, make: Callable[[Any], Any]) -> Bug:
    """A bug that replaces `owner.name` by what `make` makes of it."""

    @contextmanager
    def plant() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, make(getattr(owner, name)))
            yield

    return plant


def together(*bugs: Bug) -> Bug:
    """Several at once, where what one breaks another still holds."""

    @contextmanager
    def plant() -> Iterator[None]:
        with ExitStack() as planted:
            for bug in bugs:
                planted.enter_context(bug())
            yield

    return plant


EDITS: list[tuple[str, str]] = []  # of the source that batch_checks.py plays


def edited(*edits: tuple[str, str]) -> Bug:
    """A bug in the source of noisy-newton's kernel or its scores: `old` becomes `new`, wherever it stands."""

    @contextmanager
    def plant() -> Iterator[None]:
        EDITS.extend(edits)
        try:
            yield
        finally:
            del EDITS[-len(edits) :]

    return plant


class Between:
    """A noise source between a releaser and its own, with some answers changed."""

    def __init__(self, inner: Any, **answers: Callable[..., Any]) -> None:
        self.inner, self.answers = inner, answers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("inner", "answers"):
            raise AttributeError(name)
        real = getattr(self.inner, name)
        return (lambda *given: self.answers[name](real, *given)) if name in self.answers else real


def between(kind: type, **answers: Callable[..., Any]) -> Bug:
    """A bug in how a releaser asks for its noise."""

    def make(real: Any) -> Any:
        def start(self: Any, **given: Any) -> None:
            real(self, **given)
            self._source = Between(self._source, **answers)

        return start

    return changed(kind, "__init__", make)
