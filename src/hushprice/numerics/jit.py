"""The one place that turns a plain function into a compiled step.

The functions stay importable and readable without compilation (set NUMBA_DISABLE_JIT=1), which is how their branch
coverage is measured and how the tests get an un-compiled reference.

Compiled code is kept in a folder named by the content of the whole package. numba alone looks only at the file a
function stands in, so an edited helper would leave a stale caller behind.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numba.core.config

Function = TypeVar("Function", bound=Callable[..., Any])

config: Any = numba.core.config  # numba fills this module at import time, where a type checker cannot follow
COMPILED = not config.DISABLE_JIT


def source_digest(without: Collection[str] = ()) -> str:
    """The content of the whole package in one hash, `without` some of the parts directly under it."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        if source.relative_to(package).parts[0].removesuffix(".py") not in without:
            digest.update(source.read_bytes())
    return digest.hexdigest()


def _cache_folder() -> str:
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = os.environ.get("NUMBA_CACHE_DIR") or Path(caches, "hushprice")
    return str(Path(root, f"kernels-{source_digest()[:16]}"))


FOLDER = _cache_folder()


def step(function: Function) -> Function:
    """Compile a step: cached on disk, without the interpreter lock, in IEEE arithmetic (chunking changes no digit)."""
    return _compile(function, forceinline=False)


def inlined(function: Function) -> Function:
    """Compile a step small enough to be inlined into its callers' loops, where the compiler can vectorize it."""
    return _compile(function, forceinline=True)


def brief(function: Function) -> Function:
    """Compile a step that keeps the interpreter lock: for calls so short that handing it over would cost more."""
    return _compile(function, forceinline=False, nogil=False)


def _compile(function: Function, *, forceinline: bool, nogil: bool = True) -> Function:
    # error_model="numpy": a division never branches to an exception, which would keep loops from being vectorized.
    before, config.CACHE_DIR = config.CACHE_DIR, FOLDER
    try:
        compiled: Any = numba.njit(cache=True, nogil=nogil, error_model="numpy", forceinline=forceinline)(function)
        return cast(Function, compiled)
    finally:
        config.CACHE_DIR = before
