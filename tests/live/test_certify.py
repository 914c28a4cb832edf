"""Only what hushprice itself wrote is certified; any other part is refused by its name."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hushprice import open_pricer
from hushprice.demand.families import Gaussian, Logistic
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import Affine, main_effects
from hushprice.errors import InvalidInput
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import System, Tape
from hushprice.policies.paper.private.estimate import PrivateMLE
from hushprice.policies.verification import verify
from hushprice.privacy.certificates import signing

KEY = Ed25519PrivateKey.generate()


class OwnDemand(Logistic):
    """Looks like ours."""

    family = CUSTOM


class OwnSource(System):
    """May draw what it likes."""


class OwnEstimates(PrivateMLE):
    """May release what it likes."""


class OwnCovariance(ExactCov):
    """May release what it likes."""


OWN = {
    "demand": {"demand": OwnDemand()},
    "features": {"features": Affine(1, 2, lambda x: x.repeat(2), lambda x: 0 * x.repeat(2), 2.0, name="main")},
    "source": {"source": OwnSource()},
}


@pytest.mark.parametrize("part", OWN)
def test_a_part_of_ones_own_is_refused_by_name(part):
    pricer = open_pricer(**{"policy": "paper", "horizon": 50, "contexts": 1} | OWN[part])
    with pytest.raises(InvalidInput, match=f"^{part} is not one of hushprice's own"):
        pricer.certificate(KEY)


def test_a_releaser_of_ones_own_is_refused():
    plain = open_pricer(policy="paper", horizon=50, contexts=1)
    own = OwnCovariance(event=plain.learner.stream_event, source=System())
    with pytest.raises(InvalidInput, match=r"^covariance is not one of"):
        open_pricer(policy="paper", horizon=50, contexts=1, covariance=own).certificate(KEY)
    estimates = OwnEstimates(
        demand=Logistic(),
        dimension=2,
        ridge=plain.policy.noise.estimate_ridge,
        source=System(),
        event=plain.learner.estimate_event,
    )
    with pytest.raises(InvalidInput, match=r"^estimates is not one of"):
        open_pricer(policy="paper", horizon=50, contexts=1, estimates=estimates).certificate(KEY)


def test_nothing_is_certified_that_protects_nobody():
    with pytest.raises(InvalidInput, match="simulated noise protects nobody"):
        open_pricer(policy="paper", horizon=50, contexts=1, source=Tape(0, 0), simulation=True).certificate(KEY)
    with pytest.raises(InvalidInput, match="'nonprivate' cannot be certified: it claims nothing"):
        open_pricer(horizon=50, contexts=1, policy="nonprivate").certificate(KEY)


@pytest.mark.parametrize("calibration", ["printed", "published", "tight"])
@pytest.mark.parametrize("demand", [Logistic(slope=1, bound=2), Gaussian()], ids=lambda each: each.name)
def test_a_pricers_certificate_is_its_ledger(calibration, demand):
    pricer = open_pricer(
        policy="paper",
        horizon=120,
        features=main_effects(2),
        demand=demand,
        calibration=calibration,
        epsilon=2,
        max_estimates=2,
    )
    first = pricer.certificate(KEY)
    for _ in range(30):
        pricer.observe(pricer.quote([0.25, -1.0]).id, 1)
    second = pricer.certificate(KEY, previous=first)
    found = verify(second, public_key=signing.public_half(KEY), previous=first)
    assert (found.claimed, found.proven) == (pricer.ledger.claimed, pricer.ledger.proven)
    assert found.spent.epsilon == pricer.ledger.epsilon(found.claimed.delta)
    assert found.spent.epsilon >= verify(first).spent.epsilon
