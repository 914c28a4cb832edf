"""What docs/service.md tells a shop to type works, from top to bottom, against a real service."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^<!-- session(: service)? -->\n```(sh|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(?:sh|python)$", flags=re.MULTILINE)
PATIENCE = 300  # seconds; a first start compiles

# The service's own block ends with the reader's terminal; here it ends with the script.
SERVICE = """
{command} > service.log 2>&1 &
trap 'kill $! && wait $!' EXIT
for _ in $(seq 600); do
  curl -sf http://127.0.0.1:8787/readyz > ready.json && break
  kill -0 $! || {{ cat service.log >&2; exit 1; }}
  sleep 0.2
done
"""


def script(page: str) -> str:
    parts = ["set -euo pipefail"]
    for service, language, text in BLOCK.findall(page):
        if service:
            parts.append(SERVICE.format(command=text.strip()))
        elif language == "python":
            parts.append(f"python -W error - <<'END'\n{text}END\n")
        else:
            parts += [text, "echo\n"]
    return "\n".join(parts)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def run(tmp_path):
    def run(page: str) -> subprocess.CompletedProcess[str]:
        text = script((DOCS / page).read_text())
        ports = {"8787": str(free_port()), "8788": str(free_port())}
        for documented, free in ports.items():
            text = text.replace(documented, free)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HUSHPRICE_")}
        environment |= {"HUSHPRICE_PORT": ports["8787"], "HUSHPRICE_OPERATOR_PORT": ports["8788"]}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )

    return run


def test_the_guide_for_shops_works_as_typed(run, tmp_path):
    done = run("service.md")
    assert done.returncode == 0, done.stdout + done.stderr
    (offered,) = re.findall(r"offer (\d+\.99|16\.00) EUR", done.stdout)
    assert 12.0 < float(offered) < 20.0  # nothing is known yet: around 16, a tenth of the ceiling to either side
    assert '"status":"recorded"' in done.stdout.replace(": ", ":")
    assert '"forgotten":true' in done.stdout.replace(": ", ":")
    assert (tmp_path / "hushprice.db.keys.toml").stat().st_mode & 0o077 == 0
    keys = re.findall(r'^(?:admin|shop|auditor) = "(.*)"', (tmp_path / "hushprice.db.keys.toml").read_text(), re.M)
    assert len(keys) == 3
    log = (tmp_path / "service.log").read_text()
    assert not [key for key in keys if key in log]


def test_every_command_of_the_guide_is_part_of_the_session_but_the_installation():
    page = (DOCS / "service.md").read_text()
    left_over = FENCE.findall(BLOCK.sub("", page))
    assert len(left_over) == 1
    assert 'pip install ".[service]"' in page
