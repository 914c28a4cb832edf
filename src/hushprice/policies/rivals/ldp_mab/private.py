"""What a customer's device sends: whether it bought, turned over by a coin."""

from __future__ import annotations

import numpy as np

from hushprice.policies.rival_parts.private.arithmetic import Source
from hushprice.policies.rival_parts.private.coins import truths
from hushprice.privacy.events import BitReports
from hushprice.types import FloatArray


def report(bought: FloatArray, event: BitReports | None, source: Source) -> FloatArray:
    """Each bit kept with probability `keep`; anything else than a sale counts as none, so a report is one bit."""
    bits = (bought >= 1.0).astype(np.float64)
    if event is None:
        return bits
    return np.where(truths(event.keep, bits.size, source), bits, 1.0 - bits)
