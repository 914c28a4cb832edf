"""The pages about product and world files name every key, and their examples load."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from hushprice import Product, load_product, load_world
from hushprice.shops.world_file import KINDS

ROOT = Path(__file__).resolve().parents[2]
GUIDE, REFERENCE = ROOT / "docs" / "guide" / "worlds.md", ROOT / "docs" / "reference" / "shop_files.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_every_field_and_every_world_has_its_words() -> None:
    text = REFERENCE.read_text()
    fields = {field.name for kind in (Product, *KINDS.values()) for field in dataclasses.fields(kind)} - {"crowd"}
    assert {name for name in (*fields, *KINDS) if f"`{name}`" not in text} == set()


def test_the_references_product_and_world_fit_each_other(tmp_path: Path) -> None:
    product, world = blocks(REFERENCE, "toml")
    (tmp_path / "shop.toml").write_text(f"{product}\n{world}")
    made = load_product(tmp_path / "shop.toml")
    built = load_world(tmp_path / "shop.toml", made)
    chance = built.probabilities(0, np.zeros((3, 2)), np.array([0.5, 1.0, 2.0]))
    assert (np.diff(chance) < 0.0).all()


def test_the_guides_past_is_read_by_the_examples_product(tmp_path: Path) -> None:
    (rows,), (fit,) = blocks(GUIDE, "csv"), blocks(GUIDE, "toml")
    (tmp_path / "customers.csv").write_text(rows)
    (tmp_path / "world.toml").write_text(fit)
    product = load_product(ROOT / "examples" / "product.toml")
    world = load_world(tmp_path / "world.toml", product)
    assert np.shape(world.contexts(0, 6, np.random.default_rng(0))) == (6, product.contexts)


@pytest.mark.parametrize("name", ["product.toml", "world.toml"])
def test_the_examples_are_linked(name: str) -> None:
    assert f"examples/{name})" in GUIDE.read_text()
