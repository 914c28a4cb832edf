"""One of two aggregators: adds up the shares that devices sent, and all of the noise, so that one honest one suffices.

A share alone is uniform (trust/shares.py), and so is a total of shares: nothing that is held here tells of a record
until both totals are out, each with noise. docs/proofs/trust.md, section 5, is about this file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.cautious.noise import aggregated, calibrate
from hushprice.policies.cautious.pricing import instruments
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import AggregatedBatches, grid_of
from hushprice.trust import shares

FAR = 100.0  # scales of noise that two totals stay within: of Laplace noise once in e^90


class Aggregator:
    """The shares that wait. It cannot see whether a share's number is as small as it should be (section 6)."""

    def __init__(self, *, event: AggregatedBatches, source: System) -> None:
        if not (isinstance(event, AggregatedBatches) and event.live):
            raise InvalidInput(f"event must be of aggregated batches with live noise, got {event!r}")
        self._event = event
        self._source = source
        self._waiting: dict[str, list[int]] = {}
        self._over: set[str] = set()  # reports of batches that are over: a record is in one batch

    @property
    def received(self) -> frozenset[str]:
        """The reports that wait: the two aggregators add up those that reached both."""
        return frozenset(self._waiting)

    def receive(self, report: str, share: Sequence[int]) -> None:
        """Take a device's share of the batch at hand; a second one of the same report is refused."""
        if report in self._waiting or report in self._over:
            raise InvalidInput(f"report must be a new one, got {report!r} again")
        size = instruments.entries(self._event.contexts) + self._event.descriptions + 2
        if len(share) != size or not all(isinstance(word, int) and 0 <= word < 1 << shares.WORD for word in share):
            raise InvalidInput(f"share must be {size} whole numbers of {shares.WORD} bits")
        self._waiting[report] = list(share)

    def publish(self, choice: int, agreed: Collection[str]) -> list[int]:
        """End the batch: the total of the agreed reports, with noise. The others that wait are dropped."""
        missing = sorted(set(agreed) - self._waiting.keys())
        if missing:
            raise InvalidInput(f"agreed must be reports that were received, got {missing[0]!r}")
        # Drawn before a share is looked at, so that no failure of the draw can depend on one.
        scales = scales_of(self._event, choice)
        drawn = [self._drawn(scale, at) for at, scale in enumerate(scales)]
        self._over |= self._waiting.keys()
        waiting, self._waiting = self._waiting, {}
        total = [0] * len(scales)
        for report in set(agreed):
            total = shares.added(total, waiting[report])
        noisy = shares.added(total, drawn)
        return [word if scale > 0.0 else 0 for word, scale in zip(noisy, scales, strict=True)]

    def _drawn(self, scale: float, at: int) -> int:
        if scale == 0.0:
            return 0
        first = instruments.entries(self._event.contexts)
        described = first <= at < first + self._event.descriptions
        draw = self._source.integers if described else self._source.laplace_integers
        return draw(scale / grid_of(scale), 1)[0]

    def __repr__(self) -> str:
        return "Aggregator(<sensitive>)"


def promised(promise: shares.Promise) -> AggregatedBatches:
    """The event of a product's batches, from what is promised of it and nothing that the shop says later."""
    claimed = EpsilonDelta(promise.epsilon, promise.delta)
    contexts, least, most = promise.contexts, promise.least, promise.most
    noise = calibrate(claimed, contexts=contexts, least=least, most=most, adjacency=Adjacency.REPLACE_ONE)
    return aggregated(noise.event(contexts, live=True))


def scales_of(event: AggregatedBatches, choice: int) -> list[float]:
    """Of the noise of every number of a batch with this choice, in the order of a report; 0 where it is left out."""
    common, personal = event.scales[choice]
    used = set(instruments.used_entries(event.contexts, choice).tolist())
    half = event.contexts + 1
    scores = [(personal if at % half else common) if at in used else 0.0 for at in range(2 * half)]
    return [*scores, *[event.description_noise] * event.descriptions, *event.earned_scales]


def possible(event: AggregatedBatches, choice: int, numbers: Sequence[float], reports: int) -> bool:
    """Could so many honest devices have sent this? Each adds at most 1 to a number, and both noises what they may."""
    scales = scales_of(event, choice)
    return all(abs(number) <= reports + FAR * scale for number, scale in zip(numbers, scales, strict=True))


def joined(event: AggregatedBatches, choice: int, first: Sequence[int], second: Sequence[int]) -> list[float]:
    """What two aggregators published, added up: the numbers of the batch's release, with both their noises."""
    words = zip(shares.joined(first, second), scales_of(event, choice), strict=True)
    return [word * grid_of(scale) if scale > 0.0 else 0.0 for word, scale in words]
