"""A kernel: compiled once for each kind of device, left on disk, and launched with arguments that are prepared once.

numba can leave kernels on disk by itself, but not ours, which functions make for a shape: it would have to recognize
the steps they close over. We know what they depend on: the package's source, which names the folder, the shape, the
argument types, the device's generation and the libraries' versions. A file that cannot be read is compiled again.

To launch a kernel with our arguments takes numba a third of a millisecond, nearly all of it to take tuples of arrays to
pieces. A launch for a thousand trials is often over sooner, so the device would wait for the host.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hushprice.numerics.jit import FOLDER
from hushprice.simulation.gpu._numba_internals import READ, argument_types, flat_arguments
from hushprice.simulation.gpu.cuda import Generation, KernelDefinition, compile_kernel, entry_name, jit_kernel

Launch: TypeAlias = Callable[[], None]  # puts a kernel with its arguments into a stream, every time it is called


class LaunchGrid(NamedTuple):
    """Blocks, threads of each, and the stream that a kernel is put into."""

    blocks: int
    threads: int
    stream: Any


class KernelFiles:
    """Machine code on disk, for one generation of devices and the libraries of this process."""

    def __init__(self, generation: Generation, folder: Path | None = None) -> None:
        self.generation, self.folder = generation, folder or Path(FOLDER, "gpu")
        self._made_for = " ".join(map(importlib.metadata.version, READ)) + f" {generation}"

    def have(self, name: str) -> bool:
        """Is there such a kernel, for some types of arguments? A job launches it with the same ones every time."""
        return any(self.folder.glob(f"{self._prefix(name)}-*"))

    @property
    def empty(self) -> bool:
        """Is there no kernel at all?"""
        return not any(self.folder.glob("*"))

    def read(self, name: str, types: tuple[Any, ...]) -> bytes | None:
        """The kernel for arguments of these types, or None."""
        with suppress(OSError):  # never written, or not to be read
            code = self.path(name, types).read_bytes()
            return code if entry_name(code) else None
        return None

    def write(self, name: str, types: tuple[Any, ...], code: bytes) -> None:
        """Keep compiled code on disk, whole or not at all."""
        with suppress(OSError):  # a full or read-only disk: it is compiled again next time
            path = self.path(name, types)
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
                file.write(code)
            os.replace(file.name, path)

    def path(self, name: str, types: tuple[Any, ...]) -> Path:
        """The file of a kernel for arguments of these types."""
        return self.folder / f"{self._prefix(name)}-{_digest(str(types))}"

    def _prefix(self, name: str) -> str:
        return _digest(f"{name}|{self._made_for}")


class Kernel:
    """One kernel of a shape. Without `files` numba compiles it for this process, and launches it."""

    def __init__(self, name: str, define: Callable[[], KernelDefinition], files: KernelFiles | None) -> None:
        self.name, self._define, self.files = name, define, files
        self._loaded: dict[tuple[Any, ...], Any] = {}

    def prepare(self, grid: LaunchGrid, *arguments: Any) -> Launch:
        """A launch with these arguments. It knows only where their arrays are: the caller must not drop them."""
        if self.files is None:
            return functools.partial(self.jitted[tuple(grid)], *arguments)
        core: Any = importlib.import_module("cuda.core")
        types = argument_types(arguments)
        if types not in self._loaded:
            code = self.compile(types)
            self._loaded[types] = core.ObjectCode.from_cubin(code).get_kernel(entry_name(code))
        stream = core.Stream.from_handle(int(grid.stream))
        shape = core.LaunchConfig(grid=(grid.blocks, 1, 1), block=(grid.threads, 1, 1), shmem_size=0)
        return functools.partial(core.launch, stream, shape, self._loaded[types], *flat_arguments(types, arguments))

    def compile(self, types: tuple[Any, ...]) -> bytes:
        """Machine code for arguments of these types, from disk where it is there, and left there where it is not."""
        assert self.files is not None
        code = self.files.read(self.name, types)
        if code is None:
            code = compile_kernel(self._define(), types, self.files.generation)
            self.files.write(self.name, types, code)
        return code

    @functools.cached_property
    def jitted(self) -> Any:
        """The kernel as numba launches it."""
        return jit_kernel(self._define())

    def resources(self) -> dict[str, int]:
        """What it takes of the device, for those arguments that it was launched with first; empty before that."""
        if not self._loaded:
            return {}
        of = next(iter(self._loaded.values())).attributes
        sizes = {"registers": of.num_regs, "local_bytes": of.local_size_bytes, "shared_bytes": of.shared_size_bytes}
        return {name: int(size) for name, size in sizes.items()}


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:24]
