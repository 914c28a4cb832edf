"""docs/reference/cli.md is what the command line says about itself."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import typer

from hushprice.cli import app

DOCS = Path(__file__).resolve().parents[2] / "docs"
GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = {
    name: command
    for verb, group in GROUP.commands.items()
    if not group.hidden
    for name, command in {
        verb: group,
        **{f"{verb} {each}": sub for each, sub in getattr(group, "commands", {}).items()},
    }.items()
}


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "reference" / "cli.md").read_text()


def section(page: str, command: str) -> str:
    _, _, rest = page.partition(f"## `hushprice {command}`\n")
    return rest.partition("\n## ")[0]


def test_the_page_is_up_to_date(page):
    generated = runpy.run_path(str(DOCS / "generate.py"))["page"]()
    assert page == generated, "run `make docs`"


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_option_of_every_command_is_documented(page, command):
    own, _, also = section(page, command).partition("\nAlso: ")
    named = re.findall(r"--[\w-]+", also)
    shared = section(page.replace("## Options of several commands", "## `hushprice shared`"), "shared")
    assert COMMANDS[command].help
    for parameter in COMMANDS[command].params:
        shown = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
        assert f"  {shown} " in own or (shown in named and f"\n{shown} " in shared)
        assert parameter.help, f"{command} {parameter.opts[0]} has no help text"


def test_the_readme_names_every_command():
    readme = (DOCS.parent / "README.md").read_text()
    for command in (name for name, each in GROUP.commands.items() if not each.hidden):
        assert f"hushprice {command}" in readme
