"""A pricer on disk: one versioned file, written in one piece or not at all, and no pickle.

One line of text (what it is, the format, a checksum), then MessagePack of the policy's own `State`. It holds raw
records or exact sums of them, and the key of the quote ids, so it is readable by its owner alone. A pricer with parts
of the user's own (a demand family, a feature map, a releaser, a noise source) cannot be rebuilt from a file, and saving
it is refused rather than half done.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from hushprice.demand.families import BUILT_IN
from hushprice.demand.features import MAPS, by_name
from hushprice.errors import InvalidInput
from hushprice.noise import System, Tape
from hushprice.policies.catalog import saved_form
from hushprice.policies.protocol import part
from hushprice.policies.saved_pricer import array, plain, rebuilt

if TYPE_CHECKING:
    from hushprice.live.pricer import Pricer

FORMAT = 5
_HEAD = re.compile(rb"hushprice pricer ([0-9]{1,9}) ([0-9a-f]{64})\n")
AnyPricer = TypeVar("AnyPricer", bound="Pricer")


class _Named(msgspec.Struct):
    """Which policy a file is of; its folder knows the rest."""

    name: str


class _Head(msgspec.Struct):
    policy: _Named


def save(pricer: Pricer, path: Path) -> None:
    """Write `pricer` to `path`, replacing what was there only when all of it is on disk."""
    _refuse_foreign_parts(pricer)
    try:
        form = part(pricer.policy, "saved")
    except InvalidInput as problem:
        raise InvalidInput(f"pricer cannot be saved to a file: {problem}") from None
    body = msgspec.msgpack.encode(form.state_of(pricer), enc_hook=plain)
    head = f"hushprice pricer {FORMAT} {hashlib.sha256(body).hexdigest()}\n"
    try:
        _write(path, head.encode() + body)
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"path {str(path)!r} cannot be written: {problem}") from None


def load(kind: type[AnyPricer], path: Path, *, simulation: bool) -> AnyPricer:
    """The pricer that `save` wrote."""
    try:
        with open(path, "rb") as file:
            head, body = file.readline(100), file.read()
    except (OSError, ValueError) as problem:
        raise InvalidInput(f"path {str(path)!r} cannot be read: {problem}") from None
    found = _HEAD.fullmatch(head)
    if found is None:
        raise InvalidInput(f"path {str(path)!r} is not a saved pricer")
    if int(found[1]) != FORMAT:
        raise InvalidInput(f"path {str(path)!r} has format {int(found[1])}; this version reads format {FORMAT}")
    if hashlib.sha256(body).hexdigest().encode() != found[2]:
        raise InvalidInput(f"path {str(path)!r} is damaged: its checksum does not match")
    try:
        form = saved_form(msgspec.msgpack.decode(body, type=_Head).policy.name)
        outdated = getattr(form, "outdated", None)  # of policies whose states changed within a format
        if outdated is not None and outdated(body):
            raise InvalidInput(f"path {str(path)!r} {form.OUTDATED}")
        state = msgspec.msgpack.decode(body, type=form.State, dec_hook=array)
        pricer = rebuilt(kind, state, form.policy_of(state), simulation)
    except (msgspec.DecodeError, OverflowError) as problem:
        raise InvalidInput(f"path {str(path)!r} does not describe a pricer: {problem}") from None
    form.restore(state, pricer)
    return pricer


def _refuse_foreign_parts(pricer: Pricer) -> None:
    demand, features = pricer.demand, pricer.features
    own = {
        "demand": type(demand) is BUILT_IN.get(demand.name),
        "features": features.name in MAPS and features == by_name(features.name, features.contexts),
        "source": type(pricer.source) in (System, Tape),
        **pricer.engine.own_parts(certified=False),
    }
    for name, known in own.items():
        if not known:
            raise InvalidInput(f"{name} is not one of hushprice's own, so the pricer cannot be saved to a file")


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # readable by its owner alone
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
        _sync_folder(path.parent)
    finally:
        Path(name).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the replacement last: the old file, back after a power cut, would be stale and spend again."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # of Windows, which opens no folder
        return
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # a file system that cannot sync a folder
            raise
    finally:
        os.close(handle)
