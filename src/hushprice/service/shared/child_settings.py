"""What the learner's process is told by the quoter's that started it."""

from __future__ import annotations

import msgspec

from hushprice.service.shared.config import ServiceSettings
from hushprice.service.shared.secret import Secret

STORE_AWAY = 75  # the code a child ends with where it found no store, before it read anything (EX_TEMPFAIL)


class ChildSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings, sent over a pipe: arguments and environment can be read by others."""

    settings: ServiceSettings
    listening: int | None  # the operator's socket
    again: bool = False  # did one before it fail? Then the store may be damaged


def encode(child: ChildSettings) -> bytes:
    """The settings as one line of JSON, secrets revealed."""
    return msgspec.json.encode(child, enc_hook=_reveal) + b"\n"


def decode(line: bytes) -> ChildSettings:
    """The settings in a line that `encode` made."""
    return msgspec.json.decode(line, type=ChildSettings, dec_hook=lambda kind, value: kind(value))


def _reveal(value: object) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    raise TypeError(type(value).__name__)
