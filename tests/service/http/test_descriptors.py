"""A service with few descriptors: it takes all it may have, and answers on both ports however many are connected."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.service.http.hostile import connect
from tests.service.http.test_serve import Served
from tests.waiting import eventually

HARD = 400
FIT = """
import resource
from hushprice.service.http import descriptors
from hushprice.service.http.connections import Connections
everybody = Connections()
descriptors.fit(everybody)
print(everybody.places, *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def fitted(soft: int, hard: int) -> list[str]:
    command = f"ulimit -Sn {soft}; ulimit -Hn {hard}; exec {sys.executable} -c '{FIT}'"
    return subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True).stdout.split()


def test_the_soft_limit_is_raised_and_places_fit_under_the_hard_one() -> None:
    assert fitted(256, 4000) == ["1000", "4000", "4000"]
    assert fitted(256, 400) == ["100", "400", "400"]


def test_both_ports_answer_beside_more_idle_connections_than_descriptors(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nulimit -Sn 128; ulimit -Hn {HARD}; exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    served = Served(tmp_path, python=str(python))
    try:
        eventually(lambda: served.public.get("/readyz").status_code == 200)
        with ExitStack() as stack:
            for url in (served.public.base_url, served.operator.base_url):
                for _ in range(HARD + 50):
                    stack.enter_context(connect(str(url)))
            for client in (served.public, served.operator):
                answer = client.get("/v1/products", headers={**served.key("admin"), "connection": "close"})
                assert answer.status_code == 200
        assert f"not 1000: this process may open {HARD} files" in served.log()
    finally:
        served.close()
