"""The quoter of a product, whichever policy it has, and its belief as the learner hands it to others."""

from __future__ import annotations

import msgspec

from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.protocol import part_of

ProductQuoter = NewtonQuoter | CautiousQuoter


def belief_json(quoter: ProductQuoter) -> bytes:
    """All that another quoter needs to price alike; `quoter_of` reads it."""
    folder = type(quoter).__module__.rpartition(".")[0]
    return msgspec.json.encode(part_of(folder, "stored_belief", type(quoter).__name__).belief_of(quoter))
