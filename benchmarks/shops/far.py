"""Worlds in which the best price is far from today's, written to choose what is tried out there; some bend."""

from __future__ import annotations

import numpy as np

from hushprice.shops import worlds
from shops.designed import TODAY, Case, classes, shop

_LEVELS = tuple(np.random.default_rng(711).normal(0.0, 0.4, 5).tolist())
_RESPONSES = tuple(np.random.default_rng(712).normal(0.0, 0.2, 5).tolist())


def cases(horizon: int) -> dict[str, Case]:
    """All of them; none changes."""
    common = {"reference_price": TODAY, "attributes": _LEVELS, "crowd": worlds.uniform(5)}
    steep = worlds.Logit(conversion=0.08, elasticity=3.0, interactions=_RESPONSES, **common)  # type: ignore[arg-type]
    flat = worlds.Logit(conversion=0.3, elasticity=0.4, interactions=_RESPONSES, **common)  # type: ignore[arg-type]
    cheap = worlds.LogNormal(conversion=0.06, deviation=0.55, **common)  # type: ignore[arg-type]
    dear = worlds.LogNormal(conversion=0.4, deviation=1.6, **common)  # type: ignore[arg-type]
    probit = worlds.Probit(conversion=0.05, steepness=2.2, **common)  # type: ignore[arg-type]
    return {
        "far below, logit, 8 % buy": Case(shop(floor=0.0, ceiling=50.0, conversion=0.08, contexts=5), steep),
        "far above, logit, 30 % buy": Case(shop(floor=0.0, ceiling=75.0, conversion=0.3, contexts=5), flat),
        "far below, log-normal, 6 % buy": Case(shop(floor=0.0, ceiling=50.0, conversion=0.05, contexts=5), cheap),
        "far above, log-normal, 40 % buy": Case(shop(floor=0.0, ceiling=100.0, conversion=0.4, contexts=5), dear),
        "far below, probit, 5 % buy": Case(shop(floor=5.0, ceiling=45.0, conversion=0.05, contexts=5), probit),
        "far below, classes, 5 % buy": Case(
            shop(floor=5.0, ceiling=50.0, conversion=0.05), classes((0.08, 0.05, 0.02), (1.5, 3.0, 5.0), seed=713)
        ),
    }
