"""SciPy's root finder and minimizer, loaded by the first call: to load them takes as long as to load Numba."""

from __future__ import annotations

from typing import Any


def brentq(*arguments: Any, **named: Any) -> Any:
    """`scipy.optimize.brentq`."""
    from scipy import optimize

    return optimize.brentq(*arguments, **named)


def minimize_scalar(*arguments: Any, **named: Any) -> Any:
    """`scipy.optimize.minimize_scalar`."""
    from scipy import optimize

    return optimize.minimize_scalar(*arguments, **named)
