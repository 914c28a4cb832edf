"""Rivals in a live pricer: exact noise, a customer at a time, and a certificate that recomputes."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.policies.rivals.rival_runs import asked, customers, frame
from tests.privacy.certificates.certificates import make, make_rival_facts, parse, raw, replaced, resigned

from hushprice import open_pricer
from hushprice.demand.features import Affine
from hushprice.errors import HushpriceError, InvalidInput
from hushprice.noise import System, Tape
from hushprice.policies import POLICIES
from hushprice.policies.catalog import _module
from hushprice.policies.rival_parts.private import arithmetic, coins
from hushprice.policies.rival_parts.private.arithmetic import WholeArithmetic
from hushprice.policies.rival_parts.private.directions import coins_of
from hushprice.policies.rival_parts.private.gram import GramReleaser, LiveGramReleaser, gram_releaser
from hushprice.policies.rival_parts.private.laplace_tree import LaplaceTree
from hushprice.policies.rival_parts.private.sales import SalesReleaser
from hushprice.policies.rival_parts.private.sums import NoisySums, reports
from hushprice.policies.rival_parts.rival_policy import proven_by
from hushprice.policies.verification import verify
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import GaussianSums, LaplaceSums, grid_of
from hushprice.research.audits import rivals as audits
from hushprice.research.audits.rivals import audit_rival
from hushprice.trust import bits
from hushprice.types import BoolArray, FloatArray

KEY = Ed25519PrivateKey.generate()
LAPLACE = ("one-price", "mishra-ucb", "mishra-thompson")
GAUSSIAN = ("almost-free", "offline-private", "shuffle-glm")
STREAMS = ("shariff-sheffet", "shariff-sheffet-revenue", "shuffle-glm")
COINS = ("ldp-mab", "ldp-sgd", "glm-pricing")
ON_DEVICES = ("ldp-glm", *COINS)
LIVE = sorted({*LAPLACE, *GAUSSIAN, *STREAMS, *ON_DEVICES})
PUBLISHED = [(name, "published") for name in ("mishra-ucb", "shuffle-glm", "shariff-sheffet", "ldp-glm")]


@dataclass(frozen=True)
class Scripted(System):
    """Noise that is always the same number of grid steps."""

    number: int = 0

    def integers(self, scale: float, count: int) -> list[int]:
        return [self.number] * count

    laplace_integers = integers

    def truths(self, keep: float, count: int) -> BoolArray:
        return np.arange(count) % 2 == self.number


class Silent:
    """A generator whose noise is 0 and whose other numbers are those of a seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.uniform, self.beta, self.integers = rng.uniform, rng.beta, rng.integers

    def laplace(self, size: int) -> FloatArray:
        return np.zeros(size)

    random = laplace  # every coin tells the truth

    standard_normal = laplace


def opened(name: str, horizon: int = 200, **changes: Any) -> Any:
    return open_pricer(policy=name, horizon=horizon, contexts=1, epsilon=1.0, **changes)


def live_policy(name: str, horizon: int = 100) -> Any:
    return _module(name).rival(asked(name, live=True), frame(1, horizon=horizon))


@pytest.mark.parametrize(("name", "calibration"), [*((name, None) for name in LIVE), *PUBLISHED])
def test_a_live_rival_has_a_certificate_of_its_ledger(name: str, calibration: str | None) -> None:
    pricer = opened(name, **({} if calibration is None else {"calibration": calibration}))
    first = pricer.certificate(KEY)
    for bought in (1, 0, True, 5.0, -3.0, 1) * 5:
        quote = pricer.quote([0.25])
        assert 0.0 <= quote.price <= 1.0
        pricer.observe(quote.id, bought)
    found = verify(pricer.certificate(KEY, previous=first), public_key=first.public_key, previous=first)
    assert found.claimed == pricer.policy.claimed
    assert found.proven == pricer.policy.proven == found.spent
    most = 1.0 if name in COINS else 0.9995  # coins cost nothing more live
    assert found.proven.epsilon <= (most if calibration is None else 0.5)
    assert pricer.ledger.spent == pricer.ledger.allowance
    assert len(pricer.ledger.spent) == len(pricer.policy.events)
    assert pricer.learner is pricer.quoter


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("name", LIVE)
def test_what_a_live_rival_releases_tells_what_is_charged(name: str) -> None:
    policy = live_policy(name)
    assert policy.learns
    assert policy.proven.epsilon == pytest.approx(1.0 if name in COINS else 0.999, rel=1e-4)
    found = audit_rival(policy, steps=7)
    assert [each.holds for each in found] == [True] * len(policy.events)
    if not name.startswith("mishra"):  # whose tree has more levels than these few records reach
        close = 2e-3 if name in COINS else 1e-6  # places of coins are counted
        assert all(each.found == pytest.approx(each.allowed, rel=close) for each in found)


@pytest.mark.parametrize("name", [*LAPLACE, "almost-free", "offline-private", "ldp-mab"])
def test_a_customer_at_a_time_gets_the_prices_of_a_simulation(name: str) -> None:
    """Without noise, and with the same luck: whole numbers, and records one by one, change nothing else."""
    at, theta = frame(1, horizon=400), np.array([0.3, 0.9])
    live = live_policy(name, 400)
    share = 1.0 if name in COINS else 0.999
    same = replace(asked(name), claimed=EpsilonDelta(live.claimed.epsilon * share, 1e-6))
    paths = []
    for trial in (
        live.begin(at, Silent(3), Scripted()),
        _module(name).rival(same, at).begin(at, Silent(3)),
    ):
        rng, charged = np.random.default_rng(7), []
        for _ in range(400):
            came = customers(at, 1, rng)
            price = trial.prices(came)
            odds = at.slope * (came.features(price) @ theta)
            trial.learn(came, price, (rng.random(1) < 1.0 / (1.0 + np.exp(-odds))).astype(float))
            charged.append(float(price[0]))
        paths.append(charged)
    np.testing.assert_allclose(paths[0], paths[1], atol=1e-6)
    assert len(set(paths[0])) > 3


def test_the_engine_learns_each_customer_at_its_own_price_and_context(monkeypatch: pytest.MonkeyPatch) -> None:
    pricer = open_pricer(policy="almost-free", horizon=50, contexts=2, features="intercept")
    trial, taken = pricer.engine._rival, []
    real = trial.learn
    monkeypatch.setattr(
        trial,
        "learn",
        lambda came, prices, demands: taken.append((came, prices, demands)) or real(came, prices, demands),
    )
    contexts, prices = [[0.5, -1.0], [-0.25, 1.0], [0.0, 0.75]], []
    for number, context in enumerate(contexts):
        quote = pricer.quote(context)
        prices.append(quote.price)
        if number < 2:
            pricer.observe(quote.id, 1.0 - number)
    assert len(taken) == 2
    for (came, price, demand), context, charged, bought in zip(taken, contexts, prices, (1.0, 0.0), strict=False):
        np.testing.assert_allclose(came.x[:, 0], context, atol=1e-12)
        assert (price[0], demand[0]) == (charged, bought)
        np.testing.assert_allclose(came.features(price)[0] * math.sqrt(4), [1.0, *context, -charged], atol=1e-12)


def test_the_version_counts_when_prices_may_have_changed() -> None:
    pricer = opened("one-price", horizon=50)
    versions = []
    for _ in range(13):
        quote = pricer.quote([0.0])
        versions.append(quote.version)
    assert versions == [0] * 10 + [1] * 3  # a fifth of the customers try prices


def test_who_cannot_be_run_live_is_refused() -> None:
    for name in ("tang", "thompson", "glm-pricing-mixed"):
        with pytest.raises(InvalidInput, match=f"policy must be one that learns live .*'{name}'"):
            opened(name)
    with pytest.raises(InvalidInput, match="delay must be 0 for policy 'almost-free', got 3"):
        opened("almost-free", delay=3)
    with pytest.raises(InvalidInput, match="source must be the system's"):
        opened("almost-free", source=Tape(0, 0), simulation=True)
    own = Affine(1, 2, lambda x: np.array([x[0], 0.0]), lambda x: np.array([0.0, -1.0]), 2.0, name="own")
    with pytest.raises(InvalidInput, match="features must be a built-in map for policy 'one-price', got 'own'"):
        open_pricer(policy="one-price", horizon=50, features=own)
    with pytest.raises(InvalidInput, match="are for policies 'paper' and 'nonprivate'"):
        opened("one-price", covariance=object())


@pytest.mark.parametrize("simulated", [0, 1])
def test_one_release_with_simulated_noise_is_one_too_many(simulated: int) -> None:
    policy = live_policy("shuffle-glm")
    assert policy.learns
    events = [*policy.events]
    changes: dict[str, Any] = {"grid": 0.0} if simulated == 0 else {"live": False}
    events[simulated] = replace(events[simulated], **changes)
    proven = proven_by(tuple(events), policy.claimed, policy.adjacency)
    assert not replace(policy, events=tuple(events), proven=proven).learns


def test_a_live_rival_cannot_be_saved(tmp_path: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^pricer cannot be saved to a file: policy 'one-price' has no"):
        opened("one-price").save(tmp_path / "a.pricer")


def test_after_a_draw_that_failed_nobody_is_priced(monkeypatch: pytest.MonkeyPatch) -> None:
    pricer = opened("mishra-ucb")
    quote = pricer.quote([0.0])
    pricer.observe(quote.id, 1)
    monkeypatch.setattr(System, "laplace_integers", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pricer.quote([0.0])
    monkeypatch.undo()
    for _ in range(2):
        with pytest.raises(HushpriceError, match="failed while it learned"):
            pricer.quote([0.0])


def test_a_price_outside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pricer = opened("almost-free")
    monkeypatch.setattr(pricer.engine._rival, "prices", lambda came: np.array([math.nan]))
    with pytest.raises(InvalidInput, match="left \\[0, 1\\] with a price"):
        pricer.quote([0.0])


def test_a_class_of_ones_own_under_a_rivals_name_is_not_certified() -> None:
    pricer = opened("one-price")
    object.__setattr__(pricer.policy, "begin", lambda *given: None)
    with pytest.raises(InvalidInput, match=r"^policy is not one of hushprice's own"):
        pricer.certificate(KEY)
    object.__setattr__(pricer.policy, "name", "my-own")
    with pytest.raises(InvalidInput, match=r"^policy is not one of hushprice's own"):
        pricer.certificate(KEY)


def test_live_noise_and_simulated_noise_are_not_mixed_up() -> None:
    rng = np.random.default_rng(0)
    for event, source in (
        (LaplaceSums(levels=1, scale=2.0), System()),
        (LaplaceSums(levels=1, scale=2.0, live=True), rng),
        (None, System()),
    ):
        with pytest.raises(InvalidInput, match=r"event must be for (live|simulated) noise"):
            SalesReleaser(2, event, source)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="event must be for live noise"):
        NoisySums(GaussianSums(rounds=1, noise=2.0), System())
    stream = live_policy("shariff-sheffet").events[0]
    assert isinstance(gram_releaser(stream.dimension, 100, stream, System()), LiveGramReleaser)
    assert isinstance(gram_releaser(3, 100, None, rng), GramReleaser)
    with pytest.raises(InvalidInput, match=r"must have a grid"):
        gram_releaser(stream.dimension, 100, replace(stream, grid=0.0), System())
    for event in (None, stream):
        with pytest.raises(InvalidInput, match="event must describe this release"):
            gram_releaser(9, 100, event, System())


def test_a_sum_with_more_numbers_than_its_event_says_is_refused() -> None:
    sums = NoisySums(GaussianSums(rounds=2, noise=2.0, entries=2, live=True), Scripted())
    np.testing.assert_allclose(sums.of(np.full((3, 2), 0.5)), [1.5, 1.5])
    with pytest.raises(InvalidInput, match="at most 2 numbers, got 3"):
        sums.of(np.full((3, 3), 0.5))


def test_live_sums_are_on_the_grid_of_their_noise_and_near_the_truth() -> None:
    rows = np.random.default_rng(1).normal(size=(40, 3)) / 9.0
    for number in (0, 7):
        numbers = WholeArithmetic(Scripted(number))
        made = numbers.gaussian_sum(rows, 3.0)
        assert np.all(made / grid_of(3.0) == np.round(made / grid_of(3.0)))
        np.testing.assert_allclose(
            made, rows.sum(axis=0) + number * grid_of(3.0), atol=2.0 * grid_of(3.0) + 40 * 2.0**-40
        )
    tree = LaplaceTree(LaplaceSums(levels=4, scale=3.0, live=True), 4, Scripted())
    sold = np.array([1.0, 0.0, 0.3, math.nan, 7.0, 1.0])
    tree.absorb(sold)
    assert tree.release() == pytest.approx(3.3, abs=1e-8)
    sales = SalesReleaser(2, LaplaceSums(levels=1, scale=3.0, live=True), Scripted())
    sales.absorb(np.array([0, 1, 0, 0]), np.array([1.0, 0.25, 0.5, 9.0]))
    np.testing.assert_allclose(sales.release().score, [2.5, 0.25], atol=1e-9)


def test_a_live_stream_takes_no_more_records_than_were_paid_for_and_no_number_that_is_none() -> None:
    event = live_policy("shariff-sheffet", 5).events[0]
    stream = LiveGramReleaser(event, Scripted())
    assert stream.release().records == 0
    assert repr(stream) == "LiveGramReleaser(<sensitive>)"
    rows = np.full((9, event.dimension), 0.25)
    stream.absorb_many(rows)
    assert stream.release().records == event.steps < 9
    np.testing.assert_allclose(stream.release().packed, event.steps / 16.0, atol=1e-6)
    with pytest.raises(InvalidInput, match="must be finite"):
        stream.absorb_many(rows * math.nan)


@pytest.mark.parametrize("keep", [0.5, 0.75, 1.0 - 2.0**-53])
def test_a_live_coin_has_exactly_its_chance(keep: float) -> None:
    """Oracle: all 2^53 outcomes of its bits but those at the border are on the right side of it."""

    class Chosen(System):
        def bits(self, count: int) -> int:
            assert count == 53
            return places.pop()

    border = int(keep * 2**53)
    for at, wanted in ((0, True), (border - 1, True), (border, False), (2**53 - 1, False)):
        places = [at]
        assert Chosen().truths(keep, 1).tolist() == [wanted]
    assert System().truths(keep, 300).shape == (300,)


def test_of_a_live_directions_coins_the_last_alone_is_the_systems() -> None:
    """Uniforms of a generator, and where it says whether the half-sphere is kept, 0 for yes and 1 for no."""
    ours, theirs = np.random.default_rng(5), np.random.default_rng(5)
    live, simulated = coins_of(ours, Scripted(), 6, 3, 0.7), coins_of(theirs, theirs, 6, 3, 0.7)
    np.testing.assert_array_equal(live[:, :4], simulated[:, :4])
    assert live[:, 4].tolist() == [0.0, 1.0] * 3
    assert np.all((simulated[:, 4] >= 0.0) & (simulated[:, 4] < 1.0))


@pytest.mark.parametrize("epsilon", [0.01, 5.0, 20.0, 21.0, 25.0, 29.9, 31.0, 800.0])
@pytest.mark.parametrize("name", ON_DEVICES)
def test_every_epsilon_has_a_policy_whose_noise_proves_it(name: str, epsilon: float) -> None:
    for live in (False, True):
        claimed = EpsilonDelta(epsilon, 1e-6)
        policy = _module(name).rival(asked(name, claimed=claimed, live=live), frame(1, horizon=100))
        assert policy.proven.epsilon <= policy.claimed.epsilon
        assert policy.proven.epsilon >= (0.99 * epsilon if epsilon < 30.0 else 29.9)


def test_how_often_a_device_tells_the_truth_is_what_epsilon_allows() -> None:
    assert coins.keep_of(1.0) == pytest.approx(1.0 / (1.0 + math.exp(-1.0)), rel=1e-8)
    assert coins.keep_of(1e9) == coins.keep_of(31.0) == bits.keep_of(30.0) < 1.0


def test_a_certificate_of_reports_says_so() -> None:
    """Of others nothing is said of reports."""
    for name in ("ldp-mab", "one-price"):
        found = verify(opened(name).certificate(KEY))
        content = opened(name).certificate(KEY).content("parameters")
        assert (content.get("trust") == "local") is (name == "ldp-mab")
        assert ("parameters.trust" in found.stated) is (name == "ldp-mab")
        assert any("one report" in line for line in found.holds) is (name == "ldp-mab")


def test_each_live_report_is_a_row_with_noise_of_its_own() -> None:
    """Every device draws as many numbers as its row has, after the row was held to the unit ball."""
    drawn: list[int] = []

    class Counting(Scripted):
        def integers(self, scale: float, count: int) -> list[int]:
            drawn.append(count)
            return [len(drawn) * 2**32] * count

    event, rows = GaussianSums(rounds=1, noise=1.0, entries=2, live=True), np.array([[0.3, 0.4], [6.0, 8.0]])
    np.testing.assert_allclose(reports(rows, event, Counting()), [[1.3, 1.4], [2.6, 2.8]], atol=1e-9)
    assert drawn == [2, 2]


def test_real_noise_has_the_deviation_that_is_charged_for() -> None:
    """4,000 draws: a deviation is off by more than a tenth less than once in 10^15 runs."""
    numbers = WholeArithmetic(System())
    drawn = numbers.gaussian_sum(np.zeros((1, 4000)), 3.0)
    assert drawn.std() == pytest.approx(3.0, rel=0.1)
    laplace = [numbers.publish(0, each, 3.0) for each in numbers.laplace(4000, 3.0)]
    assert np.std(laplace) == pytest.approx(3.0 * math.sqrt(2.0), rel=0.2)


# ---- planted bugs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COINS)
def test_a_live_coin_that_tells_the_truth_too_often_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = System.truths
    monkeypatch.setattr(System, "truths", lambda self, keep, count: real(self, 0.5 + 0.5 * keep, count))
    assert not audit_rival(live_policy(name))[0].holds


@pytest.mark.parametrize("name", COINS)
def test_a_live_report_whose_coins_a_seed_gives_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the trial tosses simulated coins. Of the system's, one is asked for by every report."""

    def asked_for() -> int:
        counts: list[int] = []
        real = System.truths
        with monkeypatch.context() as patch:
            patch.setattr(System, "truths", lambda self, keep, count: counts.append(count) or real(self, keep, count))
            pricer = opened(name, horizon=8)
            for _ in range(5):
                pricer.observe(pricer.quote([0.5]).id, 1)
        return sum(counts)

    assert asked_for() == 4  # of the last customer nothing is learned yet
    module = importlib.import_module(POLICIES[name])
    planted = {"ldp-mab": "report", "ldp-sgd": "coins_of", "glm-pricing": "coins_of"}[name]
    plain = getattr(module, planted)
    seeded = np.random.default_rng(0)
    if planted == "report":
        monkeypatch.setattr(module, planted, lambda bought, event, source: plain(bought, event, seeded))
    else:
        monkeypatch.setattr(module, planted, lambda rng, source, *rest: plain(rng, rng, *rest))
    assert asked_for() == 0


@pytest.mark.parametrize("name", [*LAPLACE, *GAUSSIAN, "ldp-glm"])
def test_half_the_live_noise_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = WholeArithmetic.publish
    half = lambda self, total, drawn, scale: real(self, 2 * total, drawn, scale)  # noqa: E731
    monkeypatch.setattr(WholeArithmetic, "publish", half)
    steps = 255 if name.startswith("mishra") else 5  # a tree reaches what is charged once all its levels are there
    assert not all(each.holds for each in audit_rival(live_policy(name), steps=steps))


@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_live_sum_too_many_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(NoisySums):
        def of(self, rows: FloatArray) -> FloatArray:
            self._left = 9
            return super().of(rows)

    monkeypatch.setattr(audits, "NoisySums", Endless)
    assert not audit_rival(live_policy(name), steps=3)[-1].holds


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("name", STREAMS)
def test_live_rows_that_are_too_long_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from hushprice.mechanisms import whole_numbers

    def unheld(vector: FloatArray) -> list[int]:
        return [int(math.ldexp(float(value), whole_numbers.UNIT_BITS)) for value in vector]

    assert audit_rival(live_policy(name), steps=5, longest=3.0)[0].holds
    monkeypatch.setattr(whole_numbers, "in_unit_ball", unheld)
    assert not audit_rival(live_policy(name), steps=5, longest=3.0)[0].holds


@pytest.mark.parametrize("name", LAPLACE)
def test_live_sales_that_are_not_held_to_one_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert audit_rival(live_policy(name), steps=9)[0].holds
    monkeypatch.setattr(np, "clip", lambda values, low, high: np.sign(values) * np.minimum(np.abs(values), 4.0))
    assert not audit_rival(live_policy(name), steps=9)[0].holds


def test_noise_that_is_drawn_after_a_look_at_the_rows_is_caught() -> None:
    """A draw that fails must fail whatever the rows are: noise comes first."""

    class Broken(System):
        def integers(self, scale: float, count: int) -> list[int]:
            raise OSError

    for rows in (np.zeros((1, 2)), np.full((1, 2), math.nan)):
        with pytest.raises(OSError):  # noqa: PT011
            arithmetic.WholeArithmetic(Broken()).gaussian_sum(rows, 2.0)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("parameters", "horizon"), 300, "events.allowance"),
        (("parameters", "calibration"), "published", "events.allowance"),
        (("parameters", "calibration"), None, "which no live pricer runs so"),
        (("mechanism", "policy"), "ldp-glm", "mechanism.releases"),
        (("mechanism", "policy"), "thompson", "which no live pricer runs so|claims None"),
        (("result", "claimed", "delta"), 1e-3, "events.allowance"),
    ],
)
def test_a_certificate_of_other_choices_than_its_events_is_refused(path: Any, value: Any, message: str) -> None:
    document = raw(make(make_rival_facts("shuffle-glm", "tight", 200)))
    section = next(number for number, each in enumerate(document["sections"]) if each["name"] == path[0])
    changed = resigned(replaced(document, ("sections", section, "content", *path[1:]), value))
    with pytest.raises(InvalidInput, match=message):
        verify(parse(changed))


def test_a_pure_rival_claims_no_delta_and_the_service_certifies_none() -> None:
    facts = make_rival_facts("one-price")
    with pytest.raises(InvalidInput, match=r"result\.claimed is .*where 'one-price' claims"):
        facts.describe()
    document = raw(make(make_rival_facts()))
    outside = {"name": "outside_the_guarantee", "content": {"changes": []}, "hash": "0" * 64}
    document |= {"format": 2, "sections": [*document["sections"], outside]}
    with pytest.raises(InvalidInput, match="format is 2, but no product of the service"):
        verify(parse(resigned(document)))
