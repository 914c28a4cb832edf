"""A small client of the pricing service for shops: standard library and msgspec only, and quick to import.

    client = Client("http://127.0.0.1:8787", key, reference_prices={"coffee": 12.50})
    quote = client.quote("coffee", attributes={"age": 42, "member": True})
    client.outcome(quote, purchased=True)

A quote is asked for once and never again: a second one would take a second slot, for a customer who came once. When the
service does not answer, the local reference price is returned, marked as such. An outcome is told until it is heard,
which is safe, because the service counts it once. docs/guide/service.md is the guide.
"""

from hushprice.client.aggregators import Aggregators
from hushprice.client.answers import Ask, Outcome, Quote
from hushprice.client.client import Client
from hushprice.client.device import Belief, Device, DeviceReport, DeviceShares, SharingDevice
from hushprice.client.problems import Conflict, Refused, ServiceAway, UnknownQuote

__all__ = [
    "Aggregators",
    "Ask",
    "Belief",
    "Client",
    "Conflict",
    "Device",
    "DeviceReport",
    "DeviceShares",
    "Outcome",
    "Quote",
    "Refused",
    "ServiceAway",
    "SharingDevice",
    "UnknownQuote",
]
