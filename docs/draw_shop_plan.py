"""Write the sample plan and its picture into docs/guide/will_it_pay.md. It takes about a minute on two cores.

Run: python docs/draw_shop_plan.py
"""

from __future__ import annotations

import os
import re
import shlex
import textwrap
from pathlib import Path

from typer.testing import CliRunner

from hushprice.cli import app

DOCS = Path(__file__).resolve().parent
PAGE, PICTURE = DOCS / "guide" / "will_it_pay.md", DOCS / "images" / "shop_plan.png"
SAMPLE = re.compile(r"(```sh\nhushprice (plan [^\n]*)\n```\n\n```text\n)(.*?)(^```$)", flags=re.MULTILINE | re.DOTALL)
WIDTH = 118


def sample(command: str) -> str:
    """What the command prints, without how long it took; its picture goes to the page's."""
    os.chdir(DOCS.parent)
    words = [str(PICTURE) if word == "plan.png" else word for word in shlex.split(command)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    lines = [line for line in done.stdout.splitlines() if not re.fullmatch(r"\d+ s|wrote .*", line)]
    return "\n".join("\n".join(textwrap.wrap(line, WIDTH)) if len(line) > WIDTH else line for line in lines) + "\n"


if __name__ == "__main__":
    text = PAGE.read_text()
    PAGE.write_text(SAMPLE.sub(lambda found: f"{found[1]}{sample(found[2])}{found[4]}", text))
