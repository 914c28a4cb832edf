"""Releases are sealed: frozen, read-only, and cut off from the arrays they came from."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from hushprice.accounting.events import ContinualCovariance, PerturbedEstimate
from hushprice.releases import CovarianceRelease, EstimateRelease

COVARIANCE = (CovarianceRelease, "packed", {"records": 7, "event": ContinualCovariance(1.0, 3, 2)})
ESTIMATE = (EstimateRelease, "theta", {"event": PerturbedEstimate(1.0, 10.0, 2)})


@pytest.mark.parametrize(("kind", "name", "rest"), [COVARIANCE, ESTIMATE])
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


@pytest.mark.parametrize(("kind", "name", "rest"), [COVARIANCE, ESTIMATE])
def test_a_release_holds_a_value_an_event_and_nothing_else(kind: Any, name: str, rest: dict[str, Any]) -> None:
    assert {field.name for field in dataclasses.fields(kind)} == {name, *rest}
    assert not hasattr(kind(**{name: np.zeros(3)}, **rest), "__dict__")
