"""Many items in one transaction, and answers to those who wait for them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from hushprice.service.store.protocol import StoreUnavailable

log = logging.getLogger("hushprice.service")
Answers = list[tuple["asyncio.Future[Any]", Any]]  # an answer may be an exception


def write_each(write: Callable[[Sequence[Any]], Sequence[Any]], items: Sequence[Any]) -> list[Any]:
    """The answers to all items. One that the store refuses for what it is does not keep it from the others."""
    try:
        return list(write(items))
    except StoreUnavailable:
        raise
    except Exception as problem:
        if len(items) > 1:
            half = len(items) // 2
            return [*write_each(write, items[:half]), *write_each(write, items[half:])]
        log.error("the store refused a write: %s", type(problem).__name__)
        return [problem]


def send_answers(loop: asyncio.AbstractEventLoop, answers: Answers) -> None:
    """Tell those who wait, in one step of their event loop."""
    if answers and not loop.is_closed():  # it is where the writer's thread was given up
        loop.call_soon_threadsafe(_set_results, answers)


def _set_results(answers: Answers) -> None:
    for future, result in answers:
        if not future.done():
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
