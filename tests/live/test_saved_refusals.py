"""Files that are no saved pricer, or not one `save` could have written, and pricers that no file can hold."""

from __future__ import annotations

import functools
import hashlib
import operator
import pickle
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushprice import Pricer, open_pricer
from hushprice.demand.families import Logistic
from hushprice.demand.family import CUSTOM
from hushprice.demand.features import Affine
from hushprice.errors import InvalidInput
from hushprice.live import saved
from hushprice.noise import Tape
from hushprice.policies.paper.private.covariance import PrivateCov
from hushprice.policies.paper.private.estimate import PrivateMLE

Body = dict[str, Any]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("saved") / "pricer"
    source = Tape(seed=1, trial=1)
    pricer = open_pricer(
        policy="paper", horizon=60, contexts=1, epsilon=3000.0, delay=2, source=source, simulation=True, ridge=1.0
    )
    for n in range(40):
        pricer.observe(pricer.quote([np.sin(n)]).id, n % 2)
    assert pricer.quoter.version > 0
    pricer.save(path)
    return path.read_bytes()


def refusal(content: bytes, path: Path) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        Pricer.load(path, simulation=True)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_one_changed_byte_anywhere_is_refused(
    content: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert refusal(bytes(changed), tmp_path_factory.getbasetemp() / "changed")


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_a_truncated_or_longer_file_is_refused(
    content: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut"
    assert refusal(content[: data.draw(st.integers(0, len(content) - 1))], path)
    assert "damaged" in refusal(content + data.draw(st.binary(min_size=1)), path)


@pytest.mark.parametrize(
    "foreign", [b"", b"\n", b"PK\x03\x04", pickle.dumps({"format": 1}), b"\x00" * 5000, b"hushprice"]
)
def test_a_foreign_file_is_not_a_saved_pricer(foreign: bytes, tmp_path: Path) -> None:
    assert "is not a saved pricer" in refusal(foreign, tmp_path / "foreign")


def test_a_future_format_is_named(content: bytes, tmp_path: Path) -> None:
    future = content.replace(b"hushprice pricer 5 ", b"hushprice pricer 6 ", 1)
    assert refusal(future, tmp_path / "future").endswith("has format 6; this version reads format 5")


def test_a_file_of_the_first_format_is_named_too(content: bytes, tmp_path: Path) -> None:
    past = content.replace(b"hushprice pricer 5 ", b"hushprice pricer 1 ", 1)
    assert refusal(past, tmp_path / "past").endswith("has format 1; this version reads format 5")


def with_checksum(body: bytes) -> bytes:
    return f"hushprice pricer {saved.FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def rewritten(content: bytes, change: Body) -> bytes:
    """The file with some fields replaced (`outer.inner` for a field of a field) and its checksum made to fit."""
    given = msgspec.msgpack.decode(content.partition(b"\n")[2])
    for name, value in change.items():
        *path, last = name.split(".")
        functools.reduce(operator.getitem, path, given)[last] = value
    return with_checksum(msgspec.msgpack.encode(given))


def numbers(*shape: int, value: float = 0.1) -> Any:
    return [list(shape), np.full(shape, value).tobytes()]


FORGED: list[Body] = [
    {"horizon": "60"},
    {"horizon": 0},
    {"horizon": 61},
    {"delay": -1},
    {"surprise": 1},
    {"family": "binomial"},
    {"demand": {"slope": -1.0}},
    {"demand": {"slope": "steep"}},
    {"demand": {"slope": 5.0}},
    {"map": "cubic"},
    {"contexts": 2},
    {"contexts": -1},
    {"schema": {"attributes": []}},
    {"tape": {"seed": -1, "trial": 0}},
    {"policy": None},
    {"policy.claimed": {"epsilon": 0.1, "delta": 1e-9}},
    {"policy.proven": {"epsilon": 1e9, "delta": 0.5}},
    {"policy.proven": {"epsilon": 1.0, "delta": 2 / 60**2}},
    {"policy.proven": None},
    {"policy.basis": None},
    {"policy.basis.dimension": 3},
    {"policy.basis.losses.gradient": 1.0},
    {"policy.basis.constants.scale": 1.0},
    {"policy.adjacency": "zero-out"},
    {"policy.adjacency": "nobody"},
    {"policy.noise": None},
    {"policy.noise.covariance_noise": 1e-3},
    {"policy.noise.covariance_noise": 1e3},
    {"policy.noise.estimate_noise": 1e-3},
    {"policy.noise.output_noise": 0.0},
    {"policy.noise.strategy": "tree"},
    {"policy.noise.strategy": "forest"},
    {"policy.noise.layout": "square"},
    {"policy.noise.claimed": None},
    {"tape": None},  # the operating system's noise is on a grid, and so is what it left behind
    {"policy.horizon": 10},
    {"status": b"\x00" * 10},
    {"status": b"\x09" * 40},
    {"last": 1000},
    {"last": -1},
    {"waiting": numbers(3, 5)},
    {"waiting": numbers(4, 2)},
    {"waiting": numbers(3, 2, value=np.nan)},
    {"waiting": [[-1], b"123"]},
    {"waiting": [[2**63, 2**63], b""]},
    {"waiting": [["three"], b""]},
    {"waiting": 5},
    {"waiting": numbers()},
    {"outcomes": numbers(2)},
    {"outcomes": numbers(3, value=np.inf)},
    {"phi": numbers(2, 5)},
    {"phi": numbers(3, 37)},
    {"phi": numbers(2, 37, value=3.0)},
    {"demands": numbers(37, value=np.nan)},
    {"demands": numbers(37, value=50.0)},
    {"demands": numbers(1, 37)},
    {"clipped": [1, 2]},
    {"covariance": b""},
    {"covariance": np.zeros(7).tobytes()},
    {"covariance": np.full(24, np.nan).tobytes()},
    {"covariance": "text"},
    {"estimates_left": -1},
    {"estimates_left": 10**6},
    {"accepted.theta": numbers(3)},
    {"accepted.theta": numbers(2, value=np.inf)},
    {"accepted.covariance": numbers(2)},
    {"accepted.covariance": numbers(3, value=np.nan)},
    {"accepted": {"theta": numbers(2)}},
    {"accepted.version": 10**6},  # more estimates than were paid for
    {"accepted.version": -3},
    {"accepted.records": 10**6},
    {"accepted.records": 0},
    {"clipped": [-1, 0, 0]},
    {"indefinite": -1},
    {"key": b""},
]


@pytest.mark.parametrize("change", FORGED, ids=lambda change: "-".join(change) or "none")
def test_a_body_that_save_could_not_have_written_is_refused(change: Body, content: bytes, tmp_path: Path) -> None:
    assert refusal(rewritten(content, change), tmp_path / "forged")


def test_a_ledger_cannot_be_reset_behind_the_estimates_it_paid_for(content: bytes, tmp_path: Path) -> None:
    state = msgspec.msgpack.decode(content.partition(b"\n")[2])
    full = state["policy"]["noise"]["max_estimates"]
    assert state["accepted"]["version"] > 0
    assert "accepted" in refusal(rewritten(content, {"estimates_left": full}), tmp_path / "forged")


@pytest.fixture(scope="module")
def live_content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("live") / "pricer"
    pricer = open_pricer(policy="paper", horizon=60, contexts=1, epsilon=3000.0, delay=2, ridge=1.0)
    for n in range(40):
        pricer.observe(pricer.quote([np.sin(n)]).id, n % 2)
    pricer.save(path)
    return path.read_bytes()


def exact_state(content: bytes, change: Body) -> Body:
    """The live file's covariance with some fields replaced."""
    state = msgspec.msgpack.decode(msgspec.msgpack.decode(content.partition(b"\n")[2])["covariance"])
    return {"covariance": msgspec.msgpack.encode(state | change)}


EXACT: list[Body] = [
    {"count": 36},
    {"count": -1},
    {"count": "37"},
    {"exact": []},
    {"exact": ["1 2 3"]},
    {"exact": ["0 0"] * 5},
    {"exact": ["0 0 none"] * 5},
    {"public": ["0 0 0"]},
    {"decoded": [0.0]},
    {"decoded": [float("nan")] * 21},
    {"surprise": 1},
]


@pytest.mark.parametrize("change", EXACT, ids=lambda change: "-".join(change))
def test_exact_sums_that_save_could_not_have_written_are_refused(
    change: Body, live_content: bytes, tmp_path: Path
) -> None:
    assert "saved covariance" in refusal(
        rewritten(live_content, exact_state(live_content, change)), tmp_path / "forged"
    )


def test_a_live_file_is_not_made_a_simulated_one(live_content: bytes, tmp_path: Path) -> None:
    assert refusal(rewritten(live_content, {"tape": {"seed": 1, "trial": 1}}), tmp_path / "forged")


def test_the_live_forgeries_start_from_a_file_that_loads(live_content: bytes, tmp_path: Path) -> None:
    (tmp_path / "pricer").write_bytes(rewritten(live_content, exact_state(live_content, {})))
    assert Pricer.load(tmp_path / "pricer").slots.count == 40


@pytest.mark.parametrize("body", [b"", b"\x80", b"\x01", b"not MessagePack"])
def test_a_body_of_another_kind_is_refused(body: bytes, tmp_path: Path) -> None:
    assert "does not describe a pricer" in refusal(with_checksum(body), tmp_path / "forged")


def test_the_forgeries_above_start_from_a_file_that_loads(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "pricer").write_bytes(rewritten(content, {}))
    assert Pricer.load(tmp_path / "pricer", simulation=True).slots.count == 40


class OwnDemand(Logistic):
    """Called logistic, but not ours."""

    family = CUSTOM


class OwnTape(Tape):
    """A noise source of one's own."""


class OwnCovariance(PrivateCov):
    """A releaser of one's own."""


class OwnEstimates(PrivateMLE):
    """Another."""


def test_a_pricer_with_parts_of_ones_own_is_not_half_saved(tmp_path: Path) -> None:
    source = Tape(seed=1, trial=1)
    given: dict[str, Any] = {"horizon": 60, "contexts": 1, "simulation": True, "source": source}
    stream, estimate = (entry.event for entry in open_pricer(**{"policy": "paper"} | given).ledger.allowance)
    own_map = Affine(1, 2, lambda x: np.array([x[0], 0.0]), lambda x: np.array([0.0, -1.0]), 2.0, name="main")
    own: dict[str, Any] = {
        "demand": OwnDemand(),
        "features": own_map,
        "source": OwnTape(seed=1, trial=1),
        "covariance": OwnCovariance(horizon=60, dimension=2, source=source, event=stream),
        "estimates": OwnEstimates(
            demand=Logistic(),
            dimension=2,
            ridge=estimate.ridge,  # type: ignore[union-attr]
            source=source,
            event=estimate,
        ),
    }
    for part, value in own.items():
        with pytest.raises(InvalidInput, match=f"^{part} is not one of hushprice's own"):
            open_pricer(**{"policy": "paper"} | given | {part: value}).save(tmp_path / "pricer")
    assert not list(tmp_path.iterdir())
