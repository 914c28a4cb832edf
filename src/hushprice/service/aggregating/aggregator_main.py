"""An aggregator's process: its key, its file, its address."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import uvloop

from hushprice import toml_file
from hushprice.errors import InvalidInput, first_line
from hushprice.privacy.certificates import signing
from hushprice.service.aggregating.aggregator_store import KEPT, AggregatorStore
from hushprice.service.aggregating.application import AggregatorApplication
from hushprice.service.http import server, sockets
from hushprice.service.shared import config, logs
from hushprice.trust.shares import Promise


def promises_in(path: Path) -> dict[str, Promise]:
    """A table a product, with the numbers of its `promise` in GET /v1/products/{name}/belief; none is fine.

    Without a product shares are refused, but the key is said, which the shop needs before there is a promise.
    """
    with toml_file.named("promises", path):
        try:
            return msgspec.convert(toml_file.read(path), dict[str, Promise], strict=False)
        except msgspec.ValidationError as problem:
            raise InvalidInput(str(problem)) from None


def opened(promises: Path, store: Path, state_dir: Path | None, kept: int = KEPT) -> AggregatorStore:
    """The store, with its note in a folder of this machine's own: beside it, one backup would set both back."""
    notes = config.build({} if state_dir is None else {"state_dir": str(state_dir)}).own_dir
    try:
        notes.mkdir(mode=0o700, parents=True, exist_ok=True)
        return AggregatorStore(store, promises_in(promises), notes=notes, kept=kept)
    except OSError as problem:
        raise InvalidInput(f"state_dir: {notes} cannot be written: {first_line(problem)}") from None


def run(
    *,
    promises: Path,
    store: Path,
    state_dir: Path | None,
    host: str,
    port: int,
    say: Callable[[str], None],
    kept: int = KEPT,
) -> None:
    """Aggregate until a signal ends it."""
    if config.is_address(str(store)):  # not shown: there may be a password in it
        raise InvalidInput("store: must be a file")
    logs.set_up("text", "aggregator")
    file = Path(f"{store}.signing.pem")
    if not file.exists():
        signing.new_key(file)
    key = signing.read_key(file)
    with sockets.listen(host, port, "port") as listening:
        opened_store = opened(promises, store, state_dir, kept)
        application = AggregatorApplication(opened_store, key)

        async def main() -> None:
            stop = asyncio.Event()
            server.on_signals(stop)
            told = f"aggregating at {sockets.address(listening)}, with the key {signing.public_half(key)}"
            await server.serve(application, listening, started=lambda: say(told), stop=stop)

        uvloop.run(main())
        opened_store.close()
    os._exit(0)  # everything is stored
