"""The records in slots that are due, in the form that a policy's engine learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hushprice.demand.features import FeatureMap, fill
from hushprice.policies.cautious.engine import PricedRecords
from hushprice.policies.cautious.pricing.quoter import coin_of
from hushprice.policies.cautious.private.bit_learner import CountedBit
from hushprice.product import Product as ShopProduct
from hushprice.service.shared.device_state import asked_by
from hushprice.service.shared.quote_ids import uniform_of
from hushprice.service.store.values import Slot
from hushprice.types import FloatArray


class SlotRecords(NamedTuple):
    """The slots that contribute, a row each. Sensitive."""

    slots: list[Slot]
    contexts: FloatArray
    prices: FloatArray  # charged, as shares of the ceiling
    demands: FloatArray
    unreadable: int  # slots that should contribute and hold no record

    def __repr__(self) -> str:
        return "SlotRecords(<sensitive>)"


def read_slots(slots: Sequence[Slot], width: int) -> SlotRecords:
    """Records of `width` numbers, with prices charged and what was bought.

    A slot over its customer's cap, a tombstone, and one that holds no record, all contribute nothing; an outcome that
    did not come is no purchase.
    """
    usable = [slot for slot in slots if slot.counts and slot.context is not None]
    whole = [slot for slot in usable if len(slot.context or b"") == 8 * width]
    joined = b"".join(slot.context or b"" for slot in whole)
    contexts = np.frombuffer(joined, dtype="<f8").reshape(len(whole), width).astype(np.float64)
    prices = np.array([slot.price for slot in whole], dtype=np.float64)
    demands = np.array([0.0 if slot.demand is None else slot.demand for slot in whole], dtype=np.float64)
    finite = np.isfinite(contexts).all(axis=1) & np.isfinite(prices) & np.isfinite(demands)
    kept = [slot for slot, sound in zip(whole, finite, strict=True) if sound]
    return SlotRecords(kept, contexts[finite], prices[finite], demands[finite], len(usable) - len(kept))


def read_reports(slots: Sequence[Slot], version: int) -> tuple[list[CountedBit], int]:
    """What devices said that were asked by this belief, and how many reports are none.

    A slot over its customer's cap, a tombstone, one at a frozen price, one asked by an earlier belief, and one without
    a report: all contribute nothing.
    """
    now, read, unreadable = asked_by(version), [], 0
    for slot in slots:
        if slot.demand is None or slot.context != now or slot.holdout or not slot.counts:
            continue
        code = int(slot.demand) if math.isfinite(slot.demand) else -1
        if code < 0 or code != slot.demand:
            unreadable += 1
        else:
            read.append(CountedBit(coin_of(uniform_of(slot.id)), code // 2, bool(code % 2)))
    return read, unreadable


def reports_asked(slots: Sequence[Slot], version: int) -> list[bytes]:
    """The ids of quotes whose devices were asked by this belief for shares, and whose customers count."""
    now = asked_by(version)
    return [slot.id for slot in slots if slot.context == now and not slot.holdout and slot.counts]


def features_at(records: SlotRecords, features: FeatureMap) -> FloatArray:
    """phi at the prices charged, a column a record: what noisy-newton learns."""
    u, v = np.empty((2, features.dimension, records.demands.size))
    fill(features.code, np.ascontiguousarray(records.contexts.T), records.demands.size, u, v)
    return np.asarray(u + records.prices * v)


def priced_records(records: SlotRecords, product: ShopProduct, ceiling: float) -> PricedRecords:
    """What cautious learns. Coins are drawn again from the quotes' ids; prices are those charged, whatever was planned.

    A price outside what was declared, by rules that were set later, is held to its ends by the learner.
    """
    return PricedRecords(
        records.contexts,
        (records.prices * ceiling - product.reference_price) / product.reach,
        np.array([coin_of(uniform_of(slot.id)) for slot in records.slots], dtype=np.float64),
        records.demands / product.most,
        np.array([slot.holdout for slot in records.slots], dtype=bool),
    )
