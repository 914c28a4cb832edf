"""What the settings of several papers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushprice.policies.rival_parts.frame import Frame

TRIALS = 20
Found = dict[str, str]  # what is reported, and what was found


def frame(horizon: int, contexts: int = 0, **changes: Any) -> Frame:
    given: dict[str, Any] = {"lowest": 0.0, "highest": 1.0, "slope": 1.0, "length": 1.0}
    size = contexts + 1
    return Frame(
        **given | {"horizon": horizon, "contexts": contexts, "dimension": size, "doubts": (1.0,) * size} | changes
    )


def slope(horizons: list[int], regrets: list[float]) -> float:
    """Of ln regret in ln T."""
    return float(np.polyfit(np.log(horizons), np.log(regrets), 1)[0])
