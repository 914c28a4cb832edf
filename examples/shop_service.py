"""The service as a child process on a SQLite file, with its keys, for as long as a `with` lasts.

Run: python examples/shop_service.py FOLDER
"""

import contextlib
import os
import random
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

LOCAL, PATIENCE = "http://127.0.0.1", 240.0  # seconds; the first start after an update compiles


class Service(NamedTuple):
    """Where it is, and how to get in."""

    url: str
    operator_url: str
    keys_file: Path
    keys: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes]


@contextlib.contextmanager
def serve(folder: Path, free_ports: bool = False) -> Iterator[Service]:
    """`hushprice serve` on a store in that folder, ready to be asked."""
    # Free ones are below those that the system gives to others while the service starts.
    port, operator_port = map(_free_port, (11_000, 20_000)) if free_ports else (8787, 8788)
    # No variables of a real service; one machine plays all shoppers, so one key sends what many would.
    others = {name: value for name, value in os.environ.items() if not name.startswith("HUSHPRICE_")}
    settings = {"store": folder / "shop.db", "state_dir": folder, "port": port, "operator_port": operator_port}
    own = {f"HUSHPRICE_{name.upper()}": str(value) for name, value in (settings | {"rate_per_second": 10000}).items()}
    command = [str(Path(sys.executable).with_name("hushprice")), "serve"]
    log_file = folder / "service.log"  # on the screen it would be in the middle of the tables
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=others | own)
    try:
        _wait_until_ready(f"{LOCAL}:{port}/readyz/learning", process, log_file)
        keys_file = folder / "shop.db.keys.toml"
        keys = tomllib.loads(keys_file.read_text())["keys"]
        yield Service(f"{LOCAL}:{port}", f"{LOCAL}:{operator_port}", keys_file, keys, log_file, process)
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(address: str, process: subprocess.Popen[bytes], log_file: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"the service did not start:\n{log_file.read_text()}")
        with contextlib.suppress(OSError), urlopen(address, timeout=1.0):
            return
        time.sleep(0.1)
    sys.exit(f"the service was not ready within {PATIENCE:.0f} seconds")


def _free_port(low: int) -> int:
    port = low + random.randrange(9_000)
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return port
    return _free_port(low)


if __name__ == "__main__":
    with serve(Path(sys.argv[1])) as service, contextlib.suppress(KeyboardInterrupt):
        print(f"{service.url}, keys in {service.keys_file}")
        service.process.wait()
