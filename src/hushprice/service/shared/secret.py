"""Values that must not end up in output, logs or tracebacks."""

from __future__ import annotations

from typing import NoReturn


class Secret:
    """A text that prints as dots; only `reveal` gives it away, so a search for that word finds every use."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The text itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not pickled")
