"""What runs seldom goes stale: benchmarks, and programs that draw the pages' pictures."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path for folder in ("benchmarks", "docs") for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_program_takes_names_that_the_package_has(program: Path) -> None:
    for node in ast.walk(ast.parse(program.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hushprice":
            module = import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    import_module(f"{node.module}.{name.name}")
