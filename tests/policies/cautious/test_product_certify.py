"""Certificates of a pricer of a product: issued from its ledger, verified from the file."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.policies.cautious.product_runs import PRODUCT, live, opened, serve

from hushprice import Pricer
from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.cautious.pricing.instruments import SHARES
from hushprice.policies.cautious.private.exact_batch import ExactSums
from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.certificate import Certificate

KEY = Ed25519PrivateKey.generate()


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
@pytest.mark.parametrize("contexts", [0, 2])
def test_a_pricers_certificate_is_its_ledger(adjacency: str, contexts: int) -> None:
    pricer = live(replace(PRODUCT, contexts=contexts), adjacency=adjacency)
    issued = pricer.certificate(KEY)
    found = verify(Certificate.parse(issued.to_json().encode()), public_key=signing.public_half(KEY))
    assert (found.claimed, found.proven) == (pricer.ledger.claimed, pricer.ledger.proven)
    assert found.spent == found.proven
    noise, parameters = pricer.policy.rules.noise, issued.content("parameters")  # type: ignore[attr-defined]
    assert parameters["noise"] == {
        "description": noise.description,
        "earnings_scale": noise.earnings,
        "holdout_scale": noise.holdout,
        "scales": [
            {"common": common, "personal": None if personal == math.inf else personal}
            for common, personal in map(noise.scales, range(len(SHARES)))
        ],
    }
    assert issued.content("mechanism")["policy"] == "cautious"
    assert "unit_cost" not in issued.to_json()  # the shop's own business


def test_certificates_follow_each_other_across_a_restart(tmp_path: Path) -> None:
    pricer = live()
    first = pricer.certificate(KEY)
    serve(pricer, stop=60)
    pricer.save(tmp_path / "pricer")
    second = Pricer.load(tmp_path / "pricer").certificate(KEY, previous=first)
    assert "it follows certificate" in verify(second, previous=first).holds[-1]
    with pytest.raises(InvalidInput, match="parameters"):
        live(replace(PRODUCT, epsilon=1.0)).certificate(KEY, previous=first)


class OwnSums(ExactSums):
    """May release what it likes."""


def test_nothing_is_certified_that_protects_nobody() -> None:
    with pytest.raises(InvalidInput, match="simulated noise protects nobody"):
        opened().certificate(KEY)
    pricer = live()
    pricer.learner.batch = OwnSums(event=pricer.learner.event, source=System())  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match=r"^batch is not one of"):
        pricer.certificate(KEY)
