"""A prior: what a fit.json must hold, what is refused, and the same demand in another product's numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.priors import CLAIMED, MU, prior_for

from hushprice import Product, open_pricer
from hushprice.demand.schema import Number, Schema
from hushprice.errors import InvalidInput
from hushprice.prior import Prior, digest, prior_of, read_prior
from hushprice.privacy.adjacency import Adjacency
from hushprice.product import schema_text
from hushprice.product_file import load_product

SHOP = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.1, contexts=2)


def written(path: Path, **changes: Any) -> Path:
    entry = prior_for(SHOP, theta=np.arange(6) / 10).to_dict()
    entry = {name: value for name, value in entry.items() if name not in ("fit", "same_people")}
    path.write_text(json.dumps({"prior": entry | changes, "rows": 50_000}))
    return path


def test_a_fits_file_is_read_with_the_digest_of_its_content_however_it_is_written(tmp_path: Path) -> None:
    path = written(tmp_path / "fit.json")
    read = read_prior(path)
    content = json.loads(path.read_text())
    assert read == prior_for(SHOP, theta=np.arange(6) / 10, fit=digest(content))
    (tmp_path / "again.json").write_text(json.dumps(content, indent=3, sort_keys=True))
    assert read_prior(tmp_path / "again.json") == read
    content["rows"] = 50_000.0  # as another writer may put it
    assert digest(content) == read.fit
    content["rows"] = 50_001
    assert digest(content) != read.fit
    assert not read_prior(path, same_people=False).same_people


def test_a_prior_survives_being_written_and_read() -> None:
    prior = prior_for(SHOP, same_people=False, adjacency=Adjacency.ZERO_OUT, whole_person=True, mu=None)
    assert prior_of(json.loads(json.dumps(prior.to_dict()))) == prior


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"theta": [1.0, 2.0, 3.0]}, "theta must have an even number of entries"),
        ({"theta": [0.0] * 5 + [math.nan]}, "NaN|not JSON|finite"),
        ({"theta": [0.0] * 4}, "covariance must have 4 rows of 4"),
        ({"level": "high"}, "level"),
        ({"level": -1e308}, "level"),
        ({"response": 1e300}, "response"),
        ({"reach": 0.0}, "reach must be a positive number"),
        ({"claimed": {"epsilon": -1.0, "delta": 0.0}}, "epsilon"),
        ({"covariance": np.diag([1.0] * 5 + [-1.0]).tolist()}, "positive definite"),
        ({"covariance": (np.eye(6) + np.eye(6, k=1)).tolist()}, "symmetric"),
        ({"mu": 10.0}, "mu 10.0 needs epsilon"),
        ({"claimed": {"epsilon": 1.0, "delta": 0.0}}, "claimed.delta"),
        ({"surplus": 1}, "surplus"),
        ({"whole_person": 1}, "whole_person"),
        ({"numbers": -1}, "numbers must be a whole number"),
        ({"numbers": 2**36 + 1}, "numbers must lie in"),  # no certificate could state it
        ({"schema": "{"}, "schema"),
    ],
)
def test_what_is_no_prior_is_refused_by_the_field(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_prior(written(tmp_path / "fit.json", **changes))


def test_what_is_no_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"theta": []}')
    with pytest.raises(InvalidInput, match="no entry 'prior'"):
        read_prior(tmp_path / "other.json")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_prior(tmp_path / "missing.json")
    with pytest.raises(InvalidInput, match="prior must be what `hushprice fit` wrote"):
        prior_of({"theta": []})
    with pytest.raises(InvalidInput, match="SHA-256"):
        prior_for(SHOP, fit="abc")
    with pytest.raises(InvalidInput, match=r"prior\.same_people must be True or False"):
        prior_for(SHOP, same_people=1)


def log_odds(prior: Prior, theta: Any, customers: Any, prices: Any) -> Any:
    half = len(prior.theta) // 2
    z = (prices - prior.reference_price) / prior.reach
    return prior.level + customers @ theta[:half] - (prior.response + customers @ theta[half:]) * z


def test_another_products_numbers_say_the_same_demand_at_every_price_to_every_customer() -> None:
    """Oracle: log-odds themselves, of the mean and of draws; covariances by the variance of log-odds."""
    draws = np.random.default_rng(3)
    root = draws.normal(size=(6, 6))
    covariance = root @ root.T + 0.1 * np.eye(6)
    prior = prior_for(SHOP, theta=draws.normal(size=6), covariance=tuple(map(tuple, covariance.tolist())))
    there = Product(
        floor=18.0, ceiling=40.0, reference_price=22.0, conversion=0.3, elasticity=2.0, unit_cost=5.0, contexts=2,
        prior=prior,
    )  # fmt: skip
    moved = there.prior_here
    assert moved is not None
    assert (moved.level, moved.response, moved.reach) == (there.level, there.response, there.reach)
    customers = np.column_stack([np.ones(40), draws.uniform(-1.0, 1.0, (40, 2))])
    prices = draws.uniform(18.0, 40.0, 40)
    before = log_odds(prior, np.array(prior.theta), customers, prices)
    np.testing.assert_allclose(log_odds(moved, np.array(moved.theta), customers, prices), before, rtol=1e-12)

    def variance(each: Prior) -> Any:
        z = (prices - each.reference_price) / each.reach
        rows = np.hstack([customers, -z[:, None] * customers])
        return np.einsum("ij,jk,ik->i", rows, np.array(each.covariance), rows)

    np.testing.assert_allclose(variance(moved), variance(prior), rtol=1e-10)
    back = moved.rebased(
        level=prior.level, response=prior.response, reference_price=prior.reference_price, reach=prior.reach
    )
    np.testing.assert_allclose(back.theta, prior.theta, rtol=1e-12)
    np.testing.assert_allclose(back.covariance, prior.covariance, rtol=1e-10, atol=1e-12)
    same = replace(SHOP, prior=prior).prior_here
    assert same is not None
    assert same.theta == prior.theta


@pytest.mark.parametrize(
    "changes",
    [
        {"reach": 1e-300},
        {"reference_price": 1e300, "reach": 1e-8},
        {"covariance": tuple(map(tuple, (1.5e308 * np.eye(6)).tolist()))},
    ],
)
def test_numbers_that_overflow_in_another_product_are_refused_without_a_warning(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"finite|covariance"):
        _ = replace(SHOP, reference_price=SHOP.reference_price * 1.01, prior=prior_for(SHOP, **changes)).prior_here


def test_a_log_of_other_attributes_is_refused() -> None:
    ages = Schema(attributes=(Number(name="age", low=18, high=90),))
    here = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.1, schema=ages)
    assert here.schema is not None
    prior = prior_for(here, schema=schema_text(here.schema))
    assert replace(here, prior=prior).prior == prior
    assert prior.schema is not None
    assert replace(here, prior=replace(prior, schema=prior.schema.replace("18.0", "18"))).prior is not None
    other = schema_text(Schema(attributes=(Number(name="age", low=21, high=90),), unknown=here.schema.unknown))
    with pytest.raises(InvalidInput, match=r"prior must be about the product's attributes, .*18\.0.*, got .*21\.0"):
        replace(here, prior=replace(prior, schema=other))
    more = Schema(attributes=(*ages.attributes, Number(name="tenure", low=0, high=9)), unknown=here.schema.unknown)
    with pytest.raises(InvalidInput, match=r'"nothing more", got .*"tenure"'):
        replace(here, prior=replace(prior, schema=schema_text(more)))
    kept = prior.schema.replace(here.schema.unknown, "refuse" if here.schema.unknown == "other" else "other")
    with pytest.raises(InvalidInput, match=r"unknown.*unknown"):
        replace(here, prior=replace(prior, schema=kept))
    for odd in ("[]", '{"attributes":5}'):
        with pytest.raises(InvalidInput, match="prior must be about the product's attributes"):
            replace(here, prior=replace(prior, schema=odd))
    with pytest.raises(InvalidInput, match="prior must be about the product's 2 contexts, got 1"):
        replace(SHOP, prior=prior)
    with pytest.raises(InvalidInput, match=r"prior must be about quantities up to most, 1\.0, got 3\.0"):
        replace(here, prior=replace(prior, most=3.0))
    with pytest.raises(InvalidInput, match="prior must be a Prior or the path of a fit's file, got 3"):
        replace(here, prior=3)  # type: ignore[arg-type]


def test_a_product_file_names_a_fit_beside_it(tmp_path: Path) -> None:
    written(tmp_path / "fit.json")
    least = "[product]\nfloor = 20\nceiling = 30\nreference_price = 25\nconversion = 0.1\ncontexts = 2\n"
    path = tmp_path / "product.toml"
    path.write_text(least + 'prior = "fit.json"\n')
    prior = read_prior(tmp_path / "fit.json")
    assert load_product(path).prior == prior
    path.write_text(least + 'prior = { fit = "fit.json", same_people = false }\n')
    assert load_product(path).prior == replace(prior, same_people=False)
    for wrong, message in (
        ("prior = 3\n", "prior must be the path"),
        ('prior = { fit = "fit.json", sure = true }\n', "unknown key 'sure'"),
        ('prior = { fit = "fit.json", same_people = "no" }\n', "same_people must be true or false, got 'no'"),
        ("prior = { fit = 1 }\n", "fit must be a path, got 1"),
    ):
        path.write_text(least + wrong)
        with pytest.raises(InvalidInput, match=message):
            load_product(path)


def test_a_pricer_takes_a_prior_beside_its_product(tmp_path: Path) -> None:
    path = written(tmp_path / "fit.json")
    pricer = open_pricer(product=SHOP, prior=path)
    assert pricer.ledger.claimed is not None
    assert pricer.ledger.claimed.epsilon == 1.0 + CLAIMED.epsilon
    assert pricer.policy.settings["product"].prior.mu == MU
    with pytest.raises(InvalidInput, match="prior is for a product, and none is given"):
        open_pricer(horizon=100, contexts=1, prior=path)
    with pytest.raises(InvalidInput, match="prior is the product's where it has one"):
        open_pricer(product=replace(SHOP, prior=read_prior(path)), prior=path)
