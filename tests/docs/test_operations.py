"""docs/guide/operations.md and docs/guide/service.md say what the code has: settings, product fields, files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from hushprice.service.shared import config
from hushprice.service.shared.product import Product

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "guide" / "operations.md").read_text()


def rows() -> list[list[str]]:
    lines = PAGE.partition("<!-- settings -->\n")[2].splitlines()
    table = lines[2 : lines.index("")]
    return [[cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def test_every_setting_is_documented_and_no_other():
    assert {row[0] for row in rows()} == config.NAMES


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_setting_is_documented_with_its_variable_and_its_default(row):
    name, variable, default, meaning = row
    assert variable == config.variable(name)
    assert len(meaning) > 5
    value: object = config.build({})
    for part in name.split("."):
        value = getattr(value, part)
    if isinstance(value, config.Secret):
        value = value.reveal()
    assert default == ("none" if value is None else msgspec.json.encode(value).decode())


def test_the_configuration_shown_is_one_that_is_taken(tmp_path):
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "shop.toml").write_text(shown)
    settings = config.read(tmp_path / "shop.toml", {}, {})
    assert (settings.rate_per_second, settings.open_page) == (200.0, False)
    assert tomllib.loads(shown)["quotes"] == {"durable": True}


def test_the_guide_names_only_fields_a_product_has():
    page = (DOCS / "guide" / "service.md").read_text()
    table = page.partition("| Field | Means |\n|---|---|\n")[2].partition("\n\n")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named
    assert named <= set(Product.__struct_fields__)
