"""The quoter of a product, whichever policy it has, and the belief that the learner hands to it as JSON."""

from __future__ import annotations

import msgspec

from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.service.shared.belief import Belief, belief_of, set_belief
from hushprice.service.shared.cautious_belief import CautiousBelief, cautious_belief_of, set_cautious_belief

ProductQuoter = NewtonQuoter | CautiousQuoter
_newton = msgspec.json.Decoder(Belief).decode
_cautious = msgspec.json.Decoder(CautiousBelief).decode


def belief_json(quoter: ProductQuoter) -> bytes:
    """All that another quoter needs to price alike."""
    return msgspec.json.encode(cautious_belief_of(quoter) if isinstance(quoter, CautiousQuoter) else belief_of(quoter))


def take_belief(quoter: ProductQuoter, belief: bytes) -> ProductQuoter:
    """The quoter, with this belief instead of its own; one of another product is refused, and nothing changes."""
    if isinstance(quoter, CautiousQuoter):
        return set_cautious_belief(quoter, _cautious(belief))
    return set_belief(quoter, _newton(belief))
