"""A run of the checks as files: findings.json, and a picture of each that has growth to show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hushprice.research.theory.finding import TheoryFinding
from hushprice.research.theory.picture import growth_picture
from hushprice.simulation.atomic_file import whole_file, write_figure


def write_findings(findings: Sequence[TheoryFinding], folder: Path) -> list[Path]:
    """Write the findings and their pictures; returns the files."""
    import msgspec

    files = [folder / "findings.json"]
    content = msgspec.json.format(msgspec.json.encode([each.to_dict() for each in findings]), indent=2)
    with whole_file(files[0]) as temporary:
        temporary.write_bytes(content + b"\n")
    for finding in findings:
        if finding.curves:
            files.append(folder / f"{finding.name}.png")
            write_figure(growth_picture(finding), files[-1])
    return files
