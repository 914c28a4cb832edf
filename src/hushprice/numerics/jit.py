"""The one place that turns a plain function into a compiled step.

The functions stay importable and readable without compilation (set NUMBA_DISABLE_JIT=1), which is how their branch
coverage is measured and how the tests get an un-compiled reference.

Compiled code is kept in a folder named by the content of the modules that steps stand in and of all they import. numba
alone looks only at the file a function stands in, so an edited helper would leave a stale caller behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numba.core.config

from hushprice.numerics.cache_folder import writable

Function = TypeVar("Function", bound=Callable[..., Any])

config: Any = numba.core.config  # numba fills this module at import time, where a type checker cannot follow
COMPILED = not config.DISABLE_JIT

_KERNELS = re.compile(r"^[ \t]*(?:from hushprice\.numerics\.jit import|(?:from|import) numba\b)", re.MULTILINE)
_IMPORTS = re.compile(
    r"^[ \t]*(?:from hushprice([\w.]*) import (\([^)]*\)|[^\n]*)|import hushprice([\w.]*))", re.MULTILINE
)
_RELATIVE = re.compile(r"^[ \t]*from \.", re.MULTILINE)
_FOLDERS = 3  # folders of compiled code, the last used ones
_IDLE = 24 * 3600.0  # seconds that an older one must be unused before it goes: somebody may be working with it


def source_digest(without: Collection[str] = ()) -> str:
    """The content of the whole package in one hash, `without` some of the parts directly under it."""
    sources = _sources()
    return _digest(sources[name] for name in sorted(sources) if name.split("/")[0] not in without)


def kernel_digest() -> str:
    """The content of all that compiled code is made of, in one hash."""
    sources = _sources()
    return _digest(sources[name] for name in kernel_modules(sources))


def kernel_modules(sources: Mapping[str, bytes]) -> list[str]:
    """The modules that compile, and what they import, at any depth; all where that cannot be told."""
    named = [name for name, text in sources.items() if b"numba" in text or b"numerics.jit" in text]
    waiting = [name for name in named if _KERNELS.search(sources[name].decode())]
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            text = sources[name].decode()
            if "from ." in text and _RELATIVE.search(text):
                return sorted(sources)
            waiting += _imported(text, sources)
    return sorted(reached)


def _sources() -> dict[str, bytes]:
    package = Path(__file__).resolve().parent.parent
    return {
        each.relative_to(package).as_posix().removesuffix(".py"): each.read_bytes() for each in package.rglob("*.py")
    }


def _imported(text: str, modules: Collection[str]) -> Iterator[str]:
    """Modules of the package that a module takes something from, those within its functions too."""
    for package, names, whole in _IMPORTS.findall(text) if "hushprice" in text else ():
        base = (package or whole).replace(".", "/").lstrip("/")
        for name in re.findall(r"(\w+)(?: as \w+)?", names) or [""]:
            inside = f"{base}/{name}".strip("/")
            candidates = inside, f"{inside}/__init__", base, f"{base}/__init__".lstrip("/")
            yield from [each for each in candidates if each in modules][:1]


def _digest(contents: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()


def _cache_folder() -> str:
    caches = os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~"), ".cache")
    root = os.environ.get("NUMBA_CACHE_DIR") or Path(caches, "hushprice")
    return str(Path(root, f"kernels-{kernel_digest()[:16]}"))


def prune(folder: Path) -> None:
    """Mark this folder as used now, and remove others beside it that have long been idle. Trouble is ignored."""
    with contextlib.suppress(OSError):
        os.utime(folder)
    with contextlib.suppress(OSError):
        used = sorted(((each.stat().st_mtime, each) for each in folder.parent.glob("kernels-*")), reverse=True)
        for at, each in used[_FOLDERS:]:
            if each != folder and at < time.time() - _IDLE:
                shutil.rmtree(each, ignore_errors=True)


FOLDER = str(writable(Path(_cache_folder())))
prune(Path(FOLDER))


def step(function: Function) -> Function:
    """Compile a step: cached on disk, without the interpreter lock, in IEEE arithmetic (chunking changes no digit).

    It works in its caller's arrays: the bookkeeping of arrays made and freed is left out, which would be a third of the
    time that compiling takes.
    """
    return _compile(function)


def inlined(function: Function) -> Function:
    """Compile a step small enough to be inlined into its callers' loops, where the compiler can vectorize it."""
    return _compile(function, forceinline=True)


def merged(function: Function) -> Function:
    """Compile a step as a part of each step that calls it: for those that call others in turn, and for short ones.

    Apart it would be compiled once for itself and once more with each of them. Two kinds stay apart: loops over
    customers, which vector units no longer run within a long step, and long steps in the middle of a chain, since each
    merging copies all that was merged before.
    """
    return _compile(function, inline="always")


def allocating(function: Function) -> Function:
    """Compile a step that makes arrays of its own."""
    return _compile(function, _nrt=True)


def brief(function: Function) -> Function:
    """Compile a step that keeps the interpreter lock: for calls so short that handing it over would cost more."""
    return _compile(function, nogil=False, _nrt=True)


def _compile(function: Function, **options: Any) -> Function:
    # error_model="numpy": a division never branches to an exception, which would keep loops from being vectorized.
    # no_cfunc_wrapper: nobody hands a step to a library of C functions.
    chosen: Any = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True, "error_model": "numpy"} | options
    before, config.CACHE_DIR = config.CACHE_DIR, FOLDER
    try:
        compiled: Any = numba.njit(cache=True, **chosen)(function)
        return cast(Function, compiled)
    finally:
        config.CACHE_DIR = before
