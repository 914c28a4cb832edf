"""Measure noisy-newton and write what docs/lab/noisy_newton.md shows.

    python benchmarks/noisy_newton.py                  # every section, about half an hour on two cores
    python benchmarks/noisy_newton.py cells            # one of them
    python benchmarks/noisy_newton.py cells --show     # its table, as it was measured last
    python benchmarks/noisy_newton.py --page           # put the tables of the last results into the page

Results go to benchmarks/newton/results.json, section by section. Nothing depends on time or on the number of cores but
the section `speed`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import time
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "newton" / "results.json"
PAGE = HERE.parent / "docs" / "lab" / "noisy_newton.md"
ON_PAGE = ("cells",)  # with their tables; of the others the page has the gist
SECTIONS = (*ON_PAGE, "loses", "instances", "adversarial", "speed", "families", "start", "curve", "rules", "training")


def section(name: str) -> ModuleType:
    """The module that measures and shows it."""
    return importlib.import_module(f"newton.{name}")


def results() -> dict[str, Any]:
    """What was measured so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def rounded(value: Any) -> Any:
    """Six digits of every number: no table shows more, and files stay readable."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list | tuple) else value


def page_with(text: str, found: dict[str, Any]) -> str:
    """The page with the table after each mark `<!-- section -->` replaced."""
    for name in ON_PAGE:
        table = section(name).table(found[name]["rows"])
        text = re.sub(
            rf"(?<=<!-- {name} -->\n)(?:\|.*\n)*", lambda _, table=table: table + "\n", text, flags=re.MULTILINE
        )
    return text


def main() -> None:
    """Measure the sections asked for, write the results, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--page", action="store_true", help="only rewrite the page's tables")
    parser.add_argument("--show", action="store_true", help="only print the tables of the last results")
    given = parser.parse_args()
    if unknown := set(given.sections) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}")
    if given.show:
        print(*(section(name).table(results()[name]["rows"]) for name in given.sections or SECTIONS), sep="\n\n")
    for name in () if given.page or given.show else given.sections or SECTIONS:
        started = time.perf_counter()
        command, rows = f"python benchmarks/noisy_newton.py {name}", []
        for row in section(name).measure():  # written as they come
            rows.append(rounded(row))
            RESULTS.write_text(json.dumps({**results(), name: {"command": command, "rows": rows}}, indent=1) + "\n")
        seconds = round(time.perf_counter() - started)
        print(f"\n$ {command}    # {seconds} s\n\n{section(name).table(rows)}\n")
        for missed in section(name).misses(rows):
            print(f"missed: {missed}")
    if given.page:
        PAGE.write_text(page_with(PAGE.read_text(), results()))


if __name__ == "__main__":
    main()
