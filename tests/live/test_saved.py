"""Save and load: the same pricer goes on, and anything but a saved pricer is refused in one line."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushprice import Pricer, open_pricer
from hushprice.demand.families import Gaussian, Poisson
from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.mechanisms.exact_covariance import ExactCov
from hushprice.noise import System, Tape
from hushprice.policies.paper import saved
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.paper.private.learner import PaperLearner
from hushprice.releases import CovarianceRelease
from hushprice.types import FloatArray

SCHEMA = Schema(
    attributes=(Number(name="age", low=18, high=98), Category(name="region", levels=("a", "b")), Boolean(name="new"))
)
KINDS: dict[str, dict[str, Any]] = {
    "paper": {"contexts": 2},
    "published": {"contexts": 2, "calibration": "published", "epsilon": 2000.0},
    "printed": {"contexts": 1, "calibration": "printed", "epsilon": 50.0, "width": 3},
    "indefinite": {"contexts": 2, "calibration": "published", "epsilon": 1.0},
    "neighbours": {"contexts": 1, "adjacency": "zero-out"},
    "nonprivate": {"contexts": 2, "policy": "nonprivate"},
    "schema": {"schema": SCHEMA, "features": "interactions"},
    "gaussian": {"contexts": 1, "demand": Gaussian(noise=0.5), "features": "intercept"},
    "poisson": {"contexts": 1, "demand": Poisson(slope=np.float64(1.5)), "max_estimates": 3, "epsilon": 1500.0},
}


def opened(kind: str = "paper", **changes: Any) -> Pricer:
    given: dict[str, Any] = {
        "horizon": 60,
        "epsilon": 3000.0,
        "exploration_periods": 4,
        "ridge": 1,
        "delay": 3,
        "source": Tape(seed=2**63 - 1, trial=6),
        "simulation": True,
    }
    return open_pricer(**{"policy": "paper"} | given | KINDS[kind] | changes)


def run(pricer: Pricer, first: int, stop: int) -> list[tuple[str, float, int]]:
    """Quotes first to stop; every third customer says nothing, the others answer two quotes later."""
    quotes = []
    for n in range(first, stop):
        random = np.random.default_rng(n)
        person = {"age": 15 + n, "region": "ab"[n % 2], "new": n % 3 == 0}
        customer: Any = person if pricer.schema else random.uniform(-1, 1, pricer.features.contexts)
        quotes.append(pricer.quote(customer))
        if n % 3 and n - first >= 2:
            pricer.observe(quotes[-3].id, 3.0 * random.random())
    return [(quote.id, quote.price, quote.version) for quote in quotes]


def facts(pricer: Pricer) -> list[Any]:
    """Ledger, slots, records, noise and releases, in every bit."""
    learner, quoter, slots = pricer.learner, pricer.quoter, pricer.slots
    records, covariance = learner.records, quoter.covariance
    return [
        (pricer.policy, pricer.demand, pricer.features, pricer.schema, pricer.source, pricer.horizon),
        (pricer.ledger, learner.estimates_left, pricer.learning),
        (slots.key, slots.count, slots.learned, slots.last, slots.delay, bytes(slots.status)),
        [(each.phi.tolist(), each.demand) for each in slots.pending],
        (records.count, records.phi[:, : records.count].tolist(), records.demand[: records.count].tolist()),
        (records.clipped_features, records.clipped_demands, pricer.clipped_attributes),
        learner.covariance.state(),  # type: ignore[attr-defined]
        learner.estimates.start.tolist(),  # type: ignore[attr-defined]
        (quoter.version, quoter.indefinite, quoter.log_determinant, quoter.theta.tolist(), quoter.inverse.tolist()),
        None if covariance is None else (covariance.packed.tolist(), covariance.records, covariance.event),
    ]


def reloaded(pricer: Pricer, path: Path) -> Pricer:
    pricer.save(path)
    return Pricer.load(path, simulation=True)


def check_goes_on(pricer: Pricer, at: int, path: Path) -> None:
    """The promise: the loaded pricer has the same state and gives the same ids, prices and versions from then on."""
    run(pricer, 0, at)
    other = reloaded(pricer, path)
    assert facts(other) == facts(pricer)
    assert run(other, at, 75) == run(pricer, at, 75)
    assert facts(other) == facts(pricer)


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [0, 1, 4, 5, 31, 59, 60, 70])
def test_a_loaded_pricer_goes_on_as_if_nothing_had_happened(kind: str, at: int, tmp_path: Path) -> None:
    check_goes_on(opened(kind), at, tmp_path / "pricer")


def test_the_kinds_above_reach_estimates_clips_and_the_end_of_learning(tmp_path: Path) -> None:
    pricers = {kind: opened(kind) for kind in KINDS}
    for pricer in pricers.values():
        run(pricer, 0, 50)
    assert sum(pricer.quoter.version > 0 for pricer in pricers.values()) >= len(KINDS) - 1
    assert pricers["indefinite"].quoter.indefinite > 0
    assert pricers["schema"].clipped_attributes > 0
    assert pricers["paper"].learner.records.clipped_demands > 0
    assert not pricers["poisson"].learning


def test_numpy_numbers_are_saved_as_the_numbers_they_are(tmp_path: Path) -> None:
    given: dict[str, Any] = {"max_estimates": np.int64(3), "horizon": np.int64(60), "width": np.float64(2.0)}
    check_goes_on(opened(epsilon=np.float64(1500.0), **given), 20, tmp_path / "pricer")


def test_noise_redrawn_on_load_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = PrivateCov.restore

    def redraw(self: PrivateCov, state: bytes, count: int) -> None:
        numbers = np.frombuffer(state)
        restore(self, (numbers + 0.01 * np.random.default_rng(1).standard_normal(numbers.size)).tobytes(), count)

    monkeypatch.setattr(PrivateCov, "restore", redraw)
    with pytest.raises(AssertionError):
        check_goes_on(opened(), 30, tmp_path / "pricer")


LIVE: dict[str, dict[str, Any]] = {
    "tight": {"contexts": 2},
    "published": {"contexts": 2, "calibration": "published", "epsilon": 2000.0},
    "printed": {"contexts": 1, "calibration": "printed", "epsilon": 50.0},
    "nonprivate": {"contexts": 2, "policy": "nonprivate"},
    "gaussian": {"contexts": 1, "demand": Gaussian(noise=0.5), "features": "intercept"},
}


def opened_live(kind: str = "tight") -> Pricer:
    return opened(source=System(), simulation=False, **LIVE[kind])


class Scripted:
    """Whole numbers in place of the operating system's, the same ones after every rewind; counts the draws."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.draws = 0
        self.rewind()
        monkeypatch.setattr(System, "integers", lambda source, scale, count: self.integers(scale, count))
        monkeypatch.setattr(System, "uniform", lambda source, stream, period: self.random.random())

    def rewind(self) -> None:
        self.random = np.random.default_rng(6)

    def integers(self, scale: float, count: int) -> list[int]:
        self.draws += 1
        return [round(scale * each) for each in self.random.standard_normal(count)]


@pytest.mark.beyond_coverage
@pytest.mark.parametrize("kind", LIVE)
@pytest.mark.parametrize("at", [0, 1, 5, 31, 60])
def test_a_live_pricer_goes_on_with_its_exact_noise_and_draws_none_again(
    kind: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Scripted(monkeypatch)
    pricer = opened_live(kind)
    run(pricer, 0, at)
    pricer.save(tmp_path / "pricer")
    before = source.draws
    other = Pricer.load(tmp_path / "pricer")
    assert source.draws == before  # saving and loading draw nothing
    assert facts(other) == facts(pricer)
    source.rewind()
    expected = run(pricer, at, 75)
    source.rewind()
    assert run(other, at, 75) == expected
    assert facts(other) == facts(pricer)
    assert pricer.quoter.version > 0


def test_exact_noise_redrawn_on_load_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pricer = opened_live()
    run(pricer, 0, 30)
    pricer.save(tmp_path / "pricer")
    restore = ExactCov.restore

    def redraw(self: ExactCov, state: bytes, count: int) -> None:
        restore(self, state, count)
        self._decoded[1:] += np.random.default_rng(1).standard_normal(self._decoded[1:].shape)

    monkeypatch.setattr(ExactCov, "restore", redraw)
    assert facts(Pricer.load(tmp_path / "pricer")) != facts(pricer)


def covariances(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[FloatArray]]:
    """What learners release from now on, by the number of records in it."""
    released: dict[int, list[FloatArray]] = {}
    absorb = PaperLearner.absorb

    def note(learner: PaperLearner, phi: FloatArray, demand: float) -> CovarianceRelease:
        release = absorb(learner, phi, demand)
        released.setdefault(release.records, []).append(release.packed)
        return release

    monkeypatch.setattr(PaperLearner, "absorb", note)
    return released


@pytest.mark.parametrize("kind", ["tight", "printed"])
def test_system_noise_is_kept_where_released_and_fresh_afterwards(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pricer = opened_live(kind)
    run(pricer, 0, 30)
    pricer.save(tmp_path / "pricer")
    one, other = (Pricer.load(tmp_path / "pricer") for _ in range(2))
    assert facts(one) == facts(other) == facts(pricer)
    released = covariances(monkeypatch)
    run(one, 30, 31)
    run(other, 30, 31)
    ((first, second),) = released.values()
    assert not np.any(first == second)


def test_a_file_older_than_the_last_quote_spends_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/reference/privacy.md tells it: the file is taken, and what was released since drawn anew."""
    pricer = opened_live()
    run(pricer, 0, 5)
    pricer.save(tmp_path / "pricer")
    saved_ledger, released = pricer.ledger, covariances(monkeypatch)
    given = run(pricer, 5, 40)
    assert pricer.ledger != saved_ledger  # estimates were made since
    stale = Pricer.load(tmp_path / "pricer")
    assert stale.ledger == saved_ledger  # and are not known to it
    again = run(stale, 5, 40)
    assert [one for one, _, _ in again] == [one for one, _, _ in given]  # ids of other customers
    assert all(not np.any(first == second) for first, second in released.values())  # the same sums with other noise


def test_a_file_as_old_as_the_last_quote_spends_nothing_again(tmp_path: Path) -> None:
    pricer = opened()
    run(pricer, 0, 30)
    last = pricer.quote([0.1, 0.2])
    pricer.save(tmp_path / "pricer")
    pricer.observe(last.id, 1.0)  # an outcome after the save releases nothing
    other = Pricer.load(tmp_path / "pricer", simulation=True)
    assert other.ledger == pricer.ledger
    other.observe(last.id, 1.0)
    assert facts(other) == facts(pricer)


def test_a_simulated_pricer_is_refused_outside_simulation(tmp_path: Path) -> None:
    opened().save(tmp_path / "pricer")
    with pytest.raises(InvalidInput, match="refused outside simulation"):
        Pricer.load(tmp_path / "pricer")


def test_the_file_is_its_owners_alone_even_where_another_lay(tmp_path: Path) -> None:
    path = tmp_path / "pricer"
    path.write_text("something older")
    path.chmod(0o644)
    opened().save(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["pricer"]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pricer"
    pricer = opened()
    pricer.save(path)
    before = path.read_bytes()
    run(pricer, 0, 10)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidInput, match=r"pricer' cannot be written: .*No space left"):
        pricer.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["pricer"]


def failing_on_folders(number: int) -> Callable[[int], None]:
    fsync = os.fsync

    def fail(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    return fail


def test_the_folder_is_synced_after_the_file_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced, fsync = tmp_path / "pricer", [], os.fsync

    def note(descriptor: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    opened().save(path)
    assert synced == [(False, False), (True, True)]


def test_a_folder_that_fails_to_sync_is_told_unless_it_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing_on_folders(errno.EIO))
    with pytest.raises(InvalidInput, match="cannot be written: "):
        opened().save(tmp_path / "pricer")
    monkeypatch.undo()
    monkeypatch.setattr(os, "fsync", failing_on_folders(errno.EINVAL))
    opened().save(tmp_path / "pricer")
    assert os.listdir(tmp_path) == ["pricer"]


def test_a_system_that_opens_no_folder_saves_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refusing(path: Any, *given: Any, **more: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "a folder")
        return real(path, *given, **more)

    monkeypatch.setattr(os, "open", refusing)
    opened().save(tmp_path / "pricer")
    monkeypatch.undo()
    assert Pricer.load(tmp_path / "pricer", simulation=True).slots.count == 0


def test_the_state_between_pricer_and_file_does_not_print() -> None:
    pricer = opened(contexts=1)
    pricer.observe(pricer.quote([0.123456]).id, 1.0)
    pricer.quote([0.5])
    state = saved.state_of(pricer)
    assert repr(state) == str(state) == "State(<sensitive>)"
    assert state.__rich_repr__() == []


@pytest.mark.parametrize("name", ["missing/pricer", ".", "x" * 300, "a\0b"])
def test_a_path_that_cannot_be_used_is_named(name: str, tmp_path: Path) -> None:
    for use in (opened().save, Pricer.load):
        with pytest.raises(InvalidInput, match=r"^path '.*' cannot be (written|read): "):
            use(tmp_path / name)
    assert os.listdir(tmp_path) == []
