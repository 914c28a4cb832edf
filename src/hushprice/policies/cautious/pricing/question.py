"""What the batch at hand asks of customers' devices: public, like everything that prices are made of."""

from __future__ import annotations

import math

from hushprice.errors import InvalidInput
from hushprice.policies.cautious.pricing.instruments import SHARES, WATCHING
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.privacy.events import AggregatedBatches, grid_of
from hushprice.trust.question import Question
from hushprice.trust.shares import MOST_BITS, Grids, Promise


def question_of(quoter: CautiousQuoter) -> Question:
    """The question until the batch's end, which is `quoter.end`."""
    model, rule = quoter.model, quoter.rule
    return Question(
        contexts=model.contexts,
        theta=tuple(quoter.belief.theta.tolist()),
        margin=model.margin,
        level=model.level,
        response=model.response,
        lowest=model.lowest,
        highest=model.highest,
        step=model.step,
        least=model.least,
        most=model.most,
        move=rule.move,
        spread=rule.spread,
        offset=rule.offset,
        share=SHARES[rule.choice],
        watching=rule.choice == WATCHING,
    )


def keep_of(quoter: CautiousQuoter) -> float:
    """How often a device tells the truth in this batch, where it sends bits."""
    bits = quoter.rules.bits
    if bits is None:
        raise InvalidInput(f"trust must be 'local' or 'shuffle' for bits, got {quoter.rules.trust!r}")
    return bits.step(quoter.rule.count, quoter.rule.choice)[1]


def grids_of(quoter: CautiousQuoter) -> Grids:
    """The grids of the noise that each aggregator adds to this batch; where a number is left out, as fine as can be."""
    event = quoter.rules.event(live=True)
    if not isinstance(event, AggregatedBatches):
        raise InvalidInput(f"trust must be 'aggregated' for shares, got {quoter.rules.trust!r}")
    return grids_of_choice(event, quoter.rule.choice)


def grids_of_choice(event: AggregatedBatches, choice: int) -> Grids:
    """The grids of a batch with this choice."""
    common, personal = event.scales[choice]
    return Grids(
        common=_bits(common),
        personal=_bits(personal) if math.isfinite(personal) else MOST_BITS,
        description=_bits(event.description_noise),
        holdout=_bits(event.earned_scales[0]),
        earnings=_bits(event.earned_scales[1]),
    )


def promise_of(quoter: CautiousQuoter) -> Promise:
    """What an aggregator has to know of the product, whatever the batch."""
    noise = quoter.rules.noise
    claimed, contexts = noise.claimed, quoter.model.contexts
    return Promise(epsilon=claimed.epsilon, delta=claimed.delta, contexts=contexts, least=noise.least, most=noise.most)


def _bits(noise: float) -> int:
    return -(math.frexp(grid_of(noise))[1] - 1)
