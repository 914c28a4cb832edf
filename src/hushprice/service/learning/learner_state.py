"""A product's learner as bytes: one line of text (what it is, the format, a checksum), then MessagePack. Sensitive."""

from __future__ import annotations

import hashlib
import re

import msgspec

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.saved import OUTDATED, Layout
from hushprice.policies.cautious.saved import EngineState as CautiousState
from hushprice.policies.newton.saved import EngineState
from hushprice.policies.saved_pricer import array, plain

FORMAT = 3  # sums are in units of the noise's grid: a state made with other noise must not be taken up
_HEAD = re.compile(rb"hushprice learner ([0-9]{1,9}) ([0-9a-f]{64})\n")


class Clipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a record had to be held to its bounds, or was none: raw counts, for the operator alone."""

    features: int = 0
    demands: int = 0
    unreadable: int = 0


class SavedLearner(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """All of a learner. `engine` is that of policy noisy-newton, `cautious` that of policy cautious.

    Both are None once learning has ended, after the horizon or where the product was retired: sums that no release will
    come of are erased.
    """

    product: bytes  # SHA-256 of it as declared
    learned: int
    sequence: int
    version: int
    clipped: Clipped
    engine: EngineState | None
    retired: bool = False
    cautious: CautiousState | None = None

    def __repr__(self) -> str:
        return "SavedLearner(<sensitive>)"


class _LaidState(msgspec.Struct):
    cautious: Layout | None = None


def pack(saved: SavedLearner) -> bytes:
    """The learner as bytes, which `unpack` reads."""
    body = msgspec.msgpack.encode(saved, enc_hook=plain)
    return f"hushprice learner {FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def unpack(state: bytes) -> SavedLearner:
    """The learner that was packed; anything else is refused, and no message says what was in it."""
    head, line, body = state.partition(b"\n")
    matched = _HEAD.fullmatch(head + line)
    if matched is None:
        raise InvalidInput("the stored state is not a learner's")
    if int(matched[1]) != FORMAT:
        raise InvalidInput(f"the stored state has format {int(matched[1])}; this version reads format {FORMAT}")
    if hashlib.sha256(body).hexdigest().encode() != matched[2]:
        raise InvalidInput("the stored state is damaged: its checksum does not match")
    if _is_outdated(body):
        raise InvalidInput(f"the stored state {OUTDATED}")
    try:
        return msgspec.msgpack.decode(body, type=SavedLearner, dec_hook=array)
    except (msgspec.DecodeError, ValueError, TypeError, OverflowError):
        raise InvalidInput("the stored state does not describe a learner") from None


def _is_outdated(body: bytes) -> bool:
    """Asked before the state is read, since its fields are others. What is no state at all is not outdated."""
    try:
        laid = msgspec.msgpack.decode(body, type=_LaidState).cautious
    except (msgspec.DecodeError, ValueError):
        return False
    return laid is not None and laid.outdated
