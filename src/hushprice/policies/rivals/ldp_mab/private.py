"""What a customer's device sends: whether it bought, turned over by a coin."""

from __future__ import annotations

import numpy as np

from hushprice.privacy.events import BitReports
from hushprice.types import FloatArray


def report(bought: FloatArray, event: BitReports | None, rng: np.random.Generator) -> FloatArray:
    """Each bit kept with probability `keep`; anything else than a sale counts as none, so a report is one bit."""
    bits = (bought >= 1.0).astype(np.float64)
    if event is None:
        return bits
    kept = rng.random(bits.size) < event.keep
    return np.where(kept, bits, 1.0 - bits)
