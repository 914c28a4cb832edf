"""The quoter of a product, whichever policy it has, and the belief that the learner hands to it as JSON."""

from __future__ import annotations

from types import ModuleType

import msgspec

from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.newton.pricing.quoter import NewtonQuoter
from hushprice.policies.protocol import part_of

ProductQuoter = NewtonQuoter | CautiousQuoter


def belief_json(quoter: ProductQuoter) -> bytes:
    """All that another quoter needs to price alike."""
    return msgspec.json.encode(_stored_belief(quoter).belief_of(quoter))


def take_belief(quoter: ProductQuoter, belief: bytes) -> ProductQuoter:
    """The quoter, with this belief instead of its own; one of another product is refused, and nothing changes."""
    kind = _stored_belief(quoter)
    taken: ProductQuoter = kind.set_belief(quoter, kind.decode(belief))
    return taken


def _stored_belief(quoter: ProductQuoter) -> ModuleType:
    folder = type(quoter).__module__.rpartition(".")[0]
    return part_of(folder, "stored_belief", type(quoter).__name__)
