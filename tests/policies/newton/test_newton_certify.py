"""Certificates of a noisy-newton pricer: issued from its ledger, verified from the file, refused for foreign parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.policies.newton.newton_runs import live, opened, serve

from hushprice import Pricer
from hushprice.demand.families import Gaussian, Logistic, Poisson
from hushprice.demand.family import CUSTOM
from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.newton.private.exact_batches import ExactBatch
from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.certificate import Certificate

KEY = Ed25519PrivateKey.generate()


@pytest.mark.parametrize("demand", [Logistic(), Gaussian(), Poisson()], ids=lambda each: each.name)
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_a_pricers_certificate_is_its_ledger(demand, adjacency) -> None:
    pricer = live(demand=demand, adjacency=adjacency, features="intercept")
    serve(pricer, stop=20)
    issued = pricer.certificate(KEY)
    found = verify(Certificate.parse(issued.to_json().encode()), public_key=signing.public_half(KEY))
    assert (found.claimed, found.proven) == (pricer.ledger.claimed, pricer.ledger.proven)
    assert found.spent == found.proven
    rules, parameters = pricer.policy.rules, issued.content("parameters")
    assert parameters["cap"] == rules.cap
    assert parameters["noise"] == {
        "score": rules.noise.score,
        "curvature": rules.noise.curvature,
        "levels": rules.noise.levels,
    }
    assert issued.content("mechanism")["policy"] == "noisy-newton"


def test_certificates_follow_each_other_across_a_restart(tmp_path: Path) -> None:
    pricer = live()
    first = pricer.certificate(KEY)
    serve(pricer, stop=30)
    pricer.save(tmp_path / "pricer")
    second = Pricer.load(tmp_path / "pricer").certificate(KEY, previous=first)
    assert "it follows certificate" in verify(second, previous=first).holds[-1]
    with pytest.raises(InvalidInput, match="parameters"):
        live(epsilon=1.0).certificate(KEY, previous=first)


class OwnLogistic(Logistic):
    """Looks like ours."""

    family = CUSTOM


class OwnSource(System):
    """May draw what it likes."""


class OwnBatch(ExactBatch):
    """May release what it likes."""


def test_a_part_of_ones_own_is_refused_by_name() -> None:
    for part, value in {"demand": OwnLogistic(), "source": OwnSource()}.items():
        with pytest.raises(InvalidInput, match=f"^{part} is not one of hushprice's own"):
            live(**{part: value}).certificate(KEY)
    pricer = live()
    pricer.learner.batch = OwnBatch(event=pricer.learner.event, source=System())
    with pytest.raises(InvalidInput, match=r"^batch is not one of"):
        pricer.certificate(KEY)


def test_nothing_is_certified_that_protects_nobody() -> None:
    with pytest.raises(InvalidInput, match="simulated noise protects nobody"):
        opened().certificate(KEY)
