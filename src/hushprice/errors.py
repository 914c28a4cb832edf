"""Every error hushprice raises on purpose. Anything else that surfaces is a bug of ours."""

from __future__ import annotations


class HushpriceError(Exception):
    """The base of all errors that this package raises on purpose."""


class InvalidInput(HushpriceError, ValueError):
    """An argument is outside what is allowed; the message names the field and the value."""


class BudgetExhausted(HushpriceError):
    """A release would cost more privacy than was paid for. Nothing was drawn."""


class DidNotConverge(HushpriceError):
    """A fit did not reach its certified tolerance, so its guarantee would not hold; nothing is released."""


class NotAvailable(HushpriceError):
    """A named feature exists in the plan but not in this version."""


class Interrupted(HushpriceError):
    """Somebody stopped the work; the message says what is kept."""


class UnknownQuote(HushpriceError):
    """No quote of this pricer has that id."""


class RepeatedOutcome(HushpriceError):
    """The quote already has its outcome. Learning from it twice would double its sensitivity."""


def first_line(problem: Exception) -> str:
    """What somebody else's error says, in one line for a message of ours; its kind where it says nothing.

    >>> first_line(ValueError("no such column\\nhint: look again")), first_line(EOFError())
    ('no such column', 'EOFError')
    """
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
