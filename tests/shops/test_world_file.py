"""World files: every world of the package by name; a mistake is one line with the file, the field and the value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hushprice import Product, load_world
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.shops.world import World
from hushprice.shops.world_file import KINDS
from hushprice.shops.worlds import Competitors, Drift, Jump, LatentClasses, Logit, LogNormal, Probit, Season, mixed

PRODUCT = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, contexts=2)
SCHEMA = Schema(
    attributes=(
        Number(name="age", low=18, high=98),
        Category(name="region", levels=("south", "north")),
        Boolean(name="member"),
    )
)
NAMED = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, schema=SCHEMA)
GIVEN = {"reference_price": 25.0, "conversion": 0.02, "attributes": (0.0, 0.0)}
LOGIT, STEEP = Logit(elasticity=1.0, **GIVEN), Logit(elasticity=3.0, **GIVEN)
GENTLE_TABLE = '{ kind = "logit", elasticity = 1.0 }'
STEEP_TABLE = '{ kind = "logit", elasticity = 3 }'
WORLDS: dict[str, tuple[str, World]] = {
    "logit": (
        "conversion = 0.05\nreference_price = 24\nelasticity = 2.0\nattributes = [0.5, 0]\ninteractions = [0.1, 0.2]",
        Logit(conversion=0.05, reference_price=24.0, elasticity=2.0, attributes=(0.5, 0.0), interactions=(0.1, 0.2)),
    ),
    "probit": (
        "steepness = 0.8\nattributes = [0.5, 0.1]",
        Probit(steepness=0.8, **{**GIVEN, "attributes": (0.5, 0.1)}),
    ),
    "log-normal": ("deviation = 0.7", LogNormal(deviation=0.7, **GIVEN)),
    "latent-classes": (
        f"kinds = [{GENTLE_TABLE}, {STEEP_TABLE}]\nshift = [[0.5, -0.5], [0.0, 1.0]]",
        LatentClasses(kinds=(LOGIT, STEEP), shift=np.array([[0.5, -0.5], [0.0, 1.0]]), crowd=mixed),
    ),
    "jump": (f"at = 40\nbefore = {GENTLE_TABLE}\nafter = {STEEP_TABLE}", Jump(before=LOGIT, after=STEEP, at=40)),
    "drift": (f"over = 80\nbefore = {GENTLE_TABLE}\nafter = {STEEP_TABLE}", Drift(before=LOGIT, after=STEEP, over=80)),
    "season": (f"period = 50\nsize = 0.3\nworld = {STEEP_TABLE}", Season(world=STEEP, period=50, size=0.3)),
    "competitors": (
        f"every = 20\ndeviation = 0.1\nweight = 2.0\nseed = 7\nworld = {STEEP_TABLE}",
        Competitors(world=STEEP, every=20, deviation=0.1, weight=2.0, seed=7),
    ),
}


def load(folder: Path, text: str, product: Product = PRODUCT) -> World:
    file = folder / "world.toml"
    file.write_text(text)
    return load_world(file, product)


def test_every_world_has_its_example() -> None:
    assert set(WORLDS) == set(KINDS)


@pytest.mark.parametrize("kind", WORLDS)
def test_a_file_gives_the_world_that_its_fields_say(tmp_path: Path, kind: str) -> None:
    lines, same = WORLDS[kind]
    world = load(tmp_path, f'[world]\nkind = "{kind}"\n{lines}\n')
    assert type(world) is type(same)
    rng = np.random.default_rng(1)
    customers, prices = rng.uniform(-1.0, 1.0, (100, 2)), rng.uniform(20.0, 30.0, 100)
    assert world.contexts(0, 5, rng).shape == (5, 2)
    assert (world.probabilities(3, customers, prices) == same.probabilities(3, customers, prices)).all()


def test_entries_may_be_named_and_what_is_not_named_is_nothing(tmp_path: Path) -> None:
    named = 'attributes = { "region=north" = 0.5 }\ninteractions = { member = 1 }'
    world = load(tmp_path, f'[world]\nkind = "logit"\nelasticity = 2.0\n{named}', NAMED)
    assert isinstance(world, Logit)
    assert (world.attributes, world.interactions) == ((0.0, 0.5, 0.0), (0.0, 0.0, 1.0))
    shifted = f'[world]\nkind = "latent-classes"\nkinds = [{GENTLE_TABLE}, {STEEP_TABLE}]\n'
    world = load(tmp_path, shifted + "shift = { age = [1, 0] }", NAMED)
    assert isinstance(world, LatentClasses)
    assert world.shift.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    world = load(tmp_path, shifted, NAMED)
    assert isinstance(world, LatentClasses)
    assert world.shift.tolist() == [[0.0, 0.0]] * 3


def test_without_a_file_of_customers_every_declared_attribute_is_uniform(tmp_path: Path) -> None:
    world = load(tmp_path, '[world]\nkind = "log-normal"\ndeviation = 0.5', NAMED)
    rows = np.asarray(world.contexts(0, 4000, np.random.default_rng(2)))
    assert set(np.unique(rows[:, 1])) == {0.0, 1.0}
    assert set(np.unique(rows[:, 2])) == {-1.0, 1.0}
    # Five deviations of the means of 4,000: 1/sqrt(3), 1/2 and 1 are those of one.
    assert (np.abs(rows.mean(axis=0) - [0.0, 0.5, 0.0]) < 5.0 * np.array([0.58, 0.5, 1.0]) / 4000**0.5).all()


def test_mixed_customers_are_those_of_the_package(tmp_path: Path) -> None:
    product = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.02, contexts=9)
    world = load(tmp_path, 'customers = "mixed"\n[world]\nkind = "probit"\nsteepness = 1.0', product)
    rows = world.contexts(0, 50, np.random.default_rng(3))
    assert np.array_equal(rows, mixed(0, 50, np.random.default_rng(3)))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "it must have a table [world] or [fit], got neither"),
        ('[world]\nkind = "logit"\n[fit]\nprice = "p"\n', "it must have a table [world] or [fit], got both"),
        ("[word]\n", "it has the unknown key 'word'"),
        ("world = 3\n", "[world] must be a table, got 3"),
        ("[world]\n", "world.kind must be one of logit, probit, log-normal, latent-classes, jump, drift, season, comp"),
        ('[world]\nkind = "linear"\n', "got 'linear'"),
        ('[world]\nkind = "logit"\n', "[world] lacks the key 'elasticity'"),
        ('[world]\nkind = "logit"\nelasticity = -2.0\n', "[world] elasticity must be a positive number, got -2.0"),
        ('[world]\nkind = "logit"\nelasticity = 2.0\nslope = 1\n', "[world] has the unknown key 'slope'"),
        ('[world]\nkind = "logit"\nelasticity = 2.0\ncrowd = "x"\n', "[world] has the unknown key 'crowd'"),
        ('[world]\nkind = "logit"\nelasticity = 2.0\nattributes = [1.0]\n', "world.attributes must have 2 entries"),
        ('[world]\nkind = "logit"\nelasticity = 2.0\nattributes = [1.0, "x"]\n', "world.attributes must be a vector"),
        ('[world]\nkind = "logit"\nelasticity = 2.0\nattributes = {age = 1}\n', "has the unknown key 'age'"),
        ('[world]\nkind = "logit"\nelasticity = 2.0\nconversion = 1.0\n', "conversion must lie strictly between"),
        ('[world]\nkind = "log-normal"\ndeviation = 0.0\n', "[world] deviation must be a positive number, got 0.0"),
        ('[world]\nkind = "probit"\nsteepness = nan\n', "[world] steepness must be a positive number, got nan"),
        (
            f'[world]\nkind = "jump"\nat = 1.5\nbefore = {GENTLE_TABLE}\nafter = {STEEP_TABLE}\n',
            "at must be a whole num",
        ),
        (
            f'[world]\nkind = "jump"\nat = 1\nbefore = {GENTLE_TABLE}\nafter = {{kind = 3}}\n',
            "world.after.kind must be",
        ),
        (
            f'[world]\nkind = "drift"\nover = 0\nbefore = {GENTLE_TABLE}\nafter = {STEEP_TABLE}\n',
            "over must be a whole",
        ),
        (f'[world]\nkind = "season"\nperiod = 0\nsize = 1\nworld = {GENTLE_TABLE}\n', "period must be a whole"),
        (
            f'[world]\nkind = "competitors"\nevery = 0\ndeviation = 1\nweight = 1\nworld = {GENTLE_TABLE}\n',
            "every must",
        ),
        (f'[world]\nkind = "latent-classes"\nkinds = [{GENTLE_TABLE}]\n', "world.kinds must be a list of at least 2"),
        (
            f'[world]\nkind = "latent-classes"\nkinds = [{GENTLE_TABLE}, {STEEP_TABLE}]\nshift = [[1.0], [0.0]]\n',
            "[world] shift must hold (entries, 2) numbers, one column a kind, got shape (2, 1)",
        ),
        ('customers = "mixed"\n[world]\nkind = "probit"\nsteepness = 1.0\n', "customers 'mixed' is for products with"),
        (
            'customers = 3\n[world]\nkind = "probit"\nsteepness = 1.0\n',
            "customers must be 'mixed', 'uniform' or a file",
        ),
        (
            'customers = "absent.csv"\n[world]\nkind = "probit"\nsteepness = 1.0\n',
            "absent.csv' cannot be read: No such",
        ),
        (
            '[fit]\nprice = "price"\noutcome = "bought"\n',
            "customers must be a file where demand is fitted, got 'uniform'",
        ),
        ('customers = "x.csv"\n[fit]\nprice = "price"\n', "[fit] lacks the key 'outcome'"),
    ],
)
def test_a_mistake_is_one_line_with_the_file_the_field_and_the_value(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(tmp_path, text)
    message = str(refused.value)
    assert message.startswith("world file '")
    assert named in message
    assert len(message.splitlines()) == 1
