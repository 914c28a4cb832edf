"""Log lines with time, level, process and request: as text, or as one JSON object each.

A message is made of public words: no attribute, price, outcome, customer or key. An exception is told by its kind and
the line it came from, because its text may hold a customer's value.
"""

from __future__ import annotations

import logging
import time
import traceback
from typing import Literal

import msgspec

from hushprice.service.shared import request_ids

LogFormat = Literal["text", "json"]


class LogFormatter(logging.Formatter):
    """Writes one line a record."""

    def __init__(self, form: LogFormat, process: str) -> None:
        super().__init__()
        self._json = form == "json"
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "process": self._process,
            "message": " ".join(record.getMessage().split()),
        }
        request = request_ids.current().decode()
        if request:
            fields["request"] = request
        error = record.exc_info and record.exc_info[1]
        if error:
            fields["error"] = kind_and_place(error)
        if self._json:
            return msgspec.json.encode(fields).decode()
        more = "".join(f" ({name} {fields[name]})" for name in ("request", "error") if name in fields)
        return f"{fields['time']} {fields['level']} hushprice {self._process}: {fields['message']}{more}"


def set_up(form: LogFormat, process: str) -> None:
    """Send log lines to stderr, once for this process: our own from info on, those of libraries from warnings on."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(form, process))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("hushprice").setLevel(logging.INFO)


def kind_and_place(problem: BaseException) -> str:
    """What kind of failure it is, and where it happened; never its text."""
    frames = traceback.extract_tb(problem.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    return f"{type(problem).__name__} at {place}"
