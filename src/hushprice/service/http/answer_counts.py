"""Answers of this process by class, and keys it refused.

How many outcomes are told, and how they are answered, depends on what customers did; so may deletions. Those answers
are counted apart, for the operator alone. All the others depend on who asks, which is no part of a record.
"""

from __future__ import annotations

_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")


class AnswerCounts:
    """Answers by class of status, and refused keys; for the event loop alone."""

    def __init__(self) -> None:
        self._answers, self._of_records = [0] * len(_CLASSES), [0] * len(_CLASSES)
        self.unknown_keys = 0  # none, or one that nobody has
        self.wrong_roles = 0

    def add(self, status: int, *, of_records: bool) -> None:
        """Count an answer with this status."""
        counts = self._of_records if of_records else self._answers
        counts[status // 100 - 1] += 1

    def by_class(self) -> dict[str, int]:
        """All answers but those that depend on records."""
        return dict(zip(_CLASSES, self._answers, strict=True))

    def of_records(self) -> dict[str, int]:
        """Answers to outcomes and deletions: raw."""
        return dict(zip(_CLASSES, self._of_records, strict=True))
