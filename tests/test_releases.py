"""Releases are sealed: frozen, read-only, and cut off from the arrays they came from."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hushprice.privacy.events import FROBENIUS, Batches, CovarianceStream, PerturbedEstimate
from hushprice.privacy.streams import Tree
from hushprice.releases import CovarianceRelease, CurvatureRelease, EstimateRelease, ScoreRelease

STREAM = CovarianceStream(strategy=Tree(3), steps=7, dimension=2, noise=1.0, layout=FROBENIUS)
FIT = PerturbedEstimate(
    dimension=2,
    noise=1.0,
    ridge=10.0,
    gradient=4.0,
    difference=5.0,
    curvature=4.0,
    distance=1e-6,
    output_noise=1e-3,
)
COVARIANCE = (CovarianceRelease, "packed", {"records": 7, "event": STREAM})
ESTIMATE = (EstimateRelease, "theta", {"event": FIT})
BATCHES = Batches(dimension=2, score_noise=1.0, curvature_noise=1.0, levels=3)
CURVATURE = (CurvatureRelease, "packed", {"records": 7, "event": BATCHES})
SCORE = (ScoreRelease, "score", {"records": 7, "event": BATCHES})


@pytest.mark.parametrize(("kind", "name", "rest"), [COVARIANCE, ESTIMATE, CURVATURE, SCORE])
def test_a_release_is_sealed(kind: Any, name: str, rest: dict[str, Any]) -> None:
    source = np.array([1.0, 2.0, 3.0])
    release = kind(**{name: source}, **rest)
    source[0] = -9.0
    value = getattr(release, name)
    np.testing.assert_array_equal(value, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="read-only"):
        value[0] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(release, name, source)
    assert release.event == rest["event"]


@pytest.mark.parametrize(("kind", "name", "rest"), [COVARIANCE, ESTIMATE, CURVATURE, SCORE])
def test_a_release_holds_a_value_an_event_and_nothing_else(kind: Any, name: str, rest: dict[str, Any]) -> None:
    assert {field.name for field in dataclasses.fields(kind)} == {name, *rest}
    assert not hasattr(kind(**{name: np.zeros(3)}, **rest), "__dict__")
