"""One word a thing: within a part of the tree no two classes and no two modules have the same name."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "hushprice"
# Policies have one shape, so their files repeat each other's names; so do verbs and the results that they show.
DIVIDED = {"policies", "research"}
RIVALS = ("policies", "rivals")  # which has a folder a policy again


def part_of(file: Path) -> str:
    """The folder below which names are unique: `service`, `policies/newton`, `research/sweeps`, ..."""
    folders = file.relative_to(SOURCE).parts[:-1]
    depth = 2 if folders and folders[0] in DIVIDED else 1
    return "/".join(folders[: depth + (folders[:2] == RIVALS)])


PARTS: dict[str, list[Path]] = {}
for _file in sorted(SOURCE.rglob("*.py")):
    PARTS.setdefault(part_of(_file), []).append(_file)


def repeated(names: list[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


@pytest.mark.parametrize("part", PARTS)
def test_module_names_are_unique_within_their_part(part: str) -> None:
    assert repeated([file.stem for file in PARTS[part] if file.stem != "__init__"]) == []


@pytest.mark.parametrize("part", PARTS)
def test_class_names_are_unique_within_their_part(part: str) -> None:
    trees = [ast.parse(file.read_text()) for file in PARTS[part]]
    classes = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert repeated(classes) == []


def test_the_parts_are_those_of_the_tree_and_a_repeated_name_would_be_seen() -> None:
    assert {"service", "simulation", "policies/newton", "policies/paper", "research/sweeps"} <= set(PARTS)
    assert repeated(["Quote", "Batch", "Quote"]) == ["Quote"]
