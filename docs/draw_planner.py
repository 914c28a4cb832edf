"""Write what depends on the planner into docs/guide/planner.md: the sample plan, its picture, and the table of the map.

Run: python docs/draw_planner.py
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import textwrap
from pathlib import Path

from typer.testing import CliRunner

from hushprice.cli import app
from hushprice.privacy.delta import parse_delta
from hushprice.research.planner.measured import MapAnswer, MeasuredMap, look_up, measured_map

DOCS = Path(__file__).resolve().parent
PAGE, PICTURE = DOCS / "guide" / "planner.md", DOCS / "images" / "plan.png"
SAMPLE = re.compile(r"(```sh\nhushprice (plan [^\n]*)\n```\n\n```text\n)(.*?)(^```$)", flags=re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(<!-- measured: planner/measured.json -->\n)(.*?)(<!-- /measured -->)", flags=re.DOTALL)


def sample(command: str, picture: Path | None) -> str:
    """What the command prints; its picture goes there."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            result = CliRunner().invoke(app, shlex.split(command), prog_name="hushprice")
        finally:
            os.chdir(before)
        if result.exit_code != 0:
            raise RuntimeError(f"{command!r} failed: {result.output}")
        if picture is not None:
            picture.write_bytes(Path(folder, "plan.png").read_bytes())
    lines = result.stdout.splitlines()
    return "".join(f"{textwrap.fill(line, 120) if len(line) > 120 else line}\n" for line in lines)


def table(found: MeasuredMap) -> str:
    """Customers to beat one price by epsilon and d, and what made the data."""
    dimensions, epsilons = (sorted({getattr(each, name) for each in found.points}) for name in ("dimension", "epsilon"))
    trials = sorted({each.trials for each in found.points})
    head = ["| epsilon | " + " | ".join(f"d = {d}" for d in dimensions) + " |", "|---:" * (len(dimensions) + 1) + "|"]
    rows = [
        f"| {epsilon:g} | " + " | ".join(_needed(found, d, epsilon) for d in dimensions) + " |" for epsilon in epsilons
    ]
    made = f"{found.device.upper()}, {found.precision} precision, version {found.version}"
    said = f"{len(found.points)} points of {' or '.join(f'{each:,}' for each in trials)} trials ({made}):"
    return "\n".join([*head, *rows, "", said, f"`{found.command}`.", ""])


def _needed(found: MeasuredMap, dimension: int, epsilon: float) -> str:
    least = min(each.customers for each in found.points if each.dimension == dimension)
    delta = parse_delta(found.delta, least)
    measured = look_up(least, dimension, epsilon, delta=delta, setting=found.setting, source=found)
    return "" if measured is None else _words(measured)


def _words(measured: MapAnswer) -> str:
    if measured.customers_to_beat_one_price is not None:
        return f"{int(float(f'{measured.customers_to_beat_one_price:.2g}')):,}"
    return f"< {measured.fewer_than:,}" if measured.fewer_than is not None else f"> {measured.more_than:,}"


def page(text: str, picture: Path | None = None) -> str:
    """The page as it should be."""
    text = SAMPLE.sub(lambda found: f"{found[1]}{sample(found[2], picture)}{found[4]}", text)
    return TABLE.sub(lambda found: f"{found[1]}{table(measured_map())}{found[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), PICTURE))
