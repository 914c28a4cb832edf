"""Compiled kernels on disk: compiling takes ten seconds and more for each, reading one back a moment.

numba keeps kernels of files by itself, but not ours, which functions make for a shape: it would have to recognize the
steps they close over. We know what they depend on: the package's whole source, which names the folder, the shape, the
argument types, the device and numba's versions. A file that cannot be read is compiled again.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import os
import tempfile
from pathlib import Path
from typing import Any

from hushprice.numerics.jit import FOLDER

_VERSIONS = ("numba", "numba-cuda")


class Disk:
    """Stands where a kernel's dispatcher has its cache."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self._name = name
        self.cache_path = str(folder or Path(FOLDER, "gpu"))

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The kernel for these argument types, or None."""
        tools = _tools()
        try:
            payload = tools.loads(self.path(signature).read_bytes())
            return tools.rebuild(payload)
        except Exception:  # never written, half written, or by a library whose kernels look different
            return None

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Write it, whole or not at all."""
        try:
            content, path = _tools().dumps(kernel._reduce_states()), self.path(signature)
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, path)
        except Exception:  # a full or read-only disk, or a kernel that cannot be written: compiled again next time
            return

    def flush(self) -> None:
        """Nothing is held back."""

    def path(self, signature: Any) -> Path:
        """Of a kernel with these argument types on this device."""
        content = "|".join([self._name, str(signature), made_for()])
        return Path(self.cache_path, hashlib.sha256(content.encode()).hexdigest()[:32])


def made_for() -> str:
    """The device's generation and numba's versions: what a kernel compiled here is for."""
    return str(_tools().made_for())


class _Tools:
    """numba's own ways of taking a kernel apart and putting it together."""

    def __init__(self) -> None:
        dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
        serialize: Any = importlib.import_module("numba.cuda.serialize")
        cuda: Any = importlib.import_module("numba.cuda")
        self.dumps, self.loads = serialize.dumps, importlib.import_module("pickle").loads
        self.rebuild = lambda payload: dispatcher._Kernel._rebuild(**payload)
        versions = " ".join(importlib.metadata.version(each) for each in _VERSIONS)
        self.made_for = lambda: f"{tuple(cuda.get_current_device().compute_capability)} {versions}"


def _tools() -> Any:
    return _Tools()
