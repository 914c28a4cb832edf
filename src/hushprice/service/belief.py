"""What a quoter holds of a product: the belief after the last release, public and small."""

from __future__ import annotations

import msgspec


class Belief(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The belief N(theta, inverse(precision)) of policy noisy-newton, and where its batches are."""

    theta: tuple[float, ...]
    precision: tuple[tuple[float, ...], ...]
    inverse: tuple[tuple[float, ...], ...]
    ready: bool  # is it worth pricing by? Before that the reference price is quoted
    version: int
    batch: int  # the slot the batch at hand follows
    look: int  # the slot after which the next release is due
    end: int  # the slot after which the batch ends at the latest
