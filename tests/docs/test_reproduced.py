"""The page of the paper's numbers against the report of the run that gave them, which lies beside it."""

from __future__ import annotations

import html
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "lab" / "reproduced.md").read_text(encoding="utf-8")
REPORT = (DOCS / "lab" / "reproduced.html").read_text(encoding="utf-8")
RUN = re.compile(
    r"1427 different cells, 7\.64e\+11 customers in all\..*?This run: 7\.64e\+11 customers, 496 seconds", re.S
)


def told(cells: list[str]) -> list[str]:
    """A row without its marks: bold heads, and letters that point to reasons."""
    return [re.sub(r"\s*\[[a-z]\]|\*\*", "", html.unescape(cell)).strip() for cell in cells]


def without_empty_end(row: list[str]) -> tuple[str, ...]:
    """A row without empty cells at its end: the page leaves out a column that is empty throughout."""
    return tuple(row[: max((at for at, cell in enumerate(row, start=1) if cell), default=0)])


def without_distances(row: tuple[str, ...]) -> tuple[str, ...]:
    """A row without the distances in brackets, which the page leaves out where nothing is meant to match."""
    return tuple(re.sub(r" \([+-][\d.]+\)", "", cell) for cell in row)


def test_every_number_of_the_page_is_one_of_the_report() -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", REPORT, re.S)
    reported = {
        without_empty_end(told([re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.S)]))
        for row in rows
    }
    reported |= {without_distances(row) for row in reported if row[0] in ("tight", "noisy-newton")}
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and "±" in line]
    assert len(lines) == 4
    for line in lines:
        assert without_empty_end(told(line.strip("|").split("|"))) in reported, line


def test_the_report_is_of_one_whole_run_on_a_gpu() -> None:
    text = re.sub(r"<[^>]+>", " ", REPORT)
    assert RUN.search(text)
    assert "seconds of a GPU in single precision" in text
    assert "1000 trials of every cell, full size" in text
    assert REPORT.count("data:image/svg") == 19
