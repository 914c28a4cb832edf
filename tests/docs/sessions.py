"""The blocks of a page that belong together, as one script, and what it needs to run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.ports import free_ports

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^<!-- session(: \w+)? -->\n```(sh|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(?:sh|python)$", flags=re.MULTILINE)
DOCUMENTED = ("8787", "8788", "8790", "8791")  # ports
PATIENCE = 900  # seconds; a first start compiles

# The service's own block ends with the reader's terminal; here it ends with the script.
SERVICE = """
{command} > service.log 2>&1 &
served=$!
trap 'kill $(jobs -p) && wait' EXIT
for _ in $(seq 1200); do
  curl -sf http://127.0.0.1:8787/readyz/learning > ready.json && break
  kill -0 $served || {{ cat service.log >&2; exit 1; }}
  sleep 0.2
done
"""


def script(page: str) -> str:
    """All blocks of a session, top to bottom."""
    parts = ["set -euo pipefail"]
    for kind, language, text in BLOCK.findall(page):
        if kind == ": service":
            parts.append(started(text.strip()))
        elif kind:
            continue
        elif language == "python":
            parts.append(f"python -W error - <<'END'\n{text}END\n")
        else:
            parts += [text, "echo\n"]
    return "\n".join(parts)


def started(command: str) -> str:
    """A command that serves, put into the background until the script ends."""
    return SERVICE.format(command=command)


def run(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script there, on free ports instead of the documented ones."""
    ports = dict(zip(DOCUMENTED, map(str, free_ports(len(DOCUMENTED))), strict=True))
    for documented, free in ports.items():
        text = text.replace(documented, free)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HUSHPRICE_")}
    environment |= {"HUSHPRICE_PORT": ports["8787"], "HUSHPRICE_OPERATOR_PORT": ports["8788"]}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
