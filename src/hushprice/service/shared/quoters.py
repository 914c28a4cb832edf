"""The quoter of a product, whichever policy it has, and the belief that the learner hands to it as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from hushprice.policies.cautious.pricing import stored_belief as cautious
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.newton.pricing import stored_belief as newton
from hushprice.policies.newton.pricing.quoter import NewtonQuoter

ProductQuoter = NewtonQuoter | CautiousQuoter
_BELIEFS: dict[type, Any] = {NewtonQuoter: newton, CautiousQuoter: cautious}


def belief_json(quoter: ProductQuoter) -> bytes:
    """All that another quoter needs to price alike."""
    return msgspec.json.encode(_BELIEFS[type(quoter)].belief_of(quoter))


def take_belief(quoter: ProductQuoter, belief: bytes) -> ProductQuoter:
    """The quoter, with this belief instead of its own; one of another product is refused, and nothing changes."""
    kind = _BELIEFS[type(quoter)]
    taken: ProductQuoter = kind.set_belief(quoter, kind.decode(belief))
    return taken
