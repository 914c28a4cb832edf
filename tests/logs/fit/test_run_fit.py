"""Fits from tables to files: durable, resumed, refused, read back, certified."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.logs.fit.fit_logs import PRODUCT, THETA, ArrayLog, drawn

import hushprice
from hushprice.demand.schema import Boolean, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.logs.fit import run_fit
from hushprice.logs.fit.fit_result import Fit
from hushprice.logs.fit.unfinished import Unfinished, locked
from hushprice.logs.passes import run_pass
from hushprice.policies.verification import verify
from hushprice.prior import read_prior
from hushprice.privacy.certificates import signing
from hushprice.privacy.certificates.certificate import Certificate
from hushprice.product import Product

NAMED = Product(
    floor=20.0,
    ceiling=30.0,
    reference_price=25.0,
    conversion=0.3,
    elasticity=1.0,
    schema=Schema(attributes=(Number(name="age", low=0, high=100), Boolean(name="member"))),
)


def table_of(log: ArrayLog, per_customer: int | None = None) -> polars.DataFrame:
    columns: dict[str, Any] = {
        "age": 50.0 + 50.0 * log.contexts[:, 0],
        "member": log.contexts[:, 1] > 0.0,
        "price": 25.0 + 5.0 * log.prices,
        "bought": log.demands > 0.5,
    }
    if per_customer is not None:
        columns["customer"] = np.arange(log.rows) // per_customer
    return polars.DataFrame(columns)


def test_a_fit_says_what_it_found_and_whose_protection_it_is() -> None:
    rows = hushprice.fit(table_of(drawn(3000)), product=NAMED, epsilon=1.0)
    people = hushprice.fit(table_of(drawn(3000), 3), product=NAMED, epsilon=1.0, rows_per_customer=3)
    assert tuple(rows.coefficients) == (
        "level",
        "level:age",
        "level:member",
        "response",
        "response:age",
        "response:member",
    )
    assert (rows.unit, rows.rows_per_customer, rows.known, rows.count) == ("row", 1, 3000, 3000.0)
    assert (people.unit, people.rows_per_customer, people.known) == ("customer", 3, None)
    assert 500.0 < people.count < 1500.0  # a thousand, with noise
    for found in (rows, people):
        assert found.claimed.epsilon == 1.0
        assert 0.999 < found.proven.epsilon <= 1.0
        assert found.ledger.count(found.event) == 1
        assert set(found.standard_errors) == set(found.names)
    assert rows.claimed.delta == pytest.approx(2.0 / 3000**2)
    assert people.claimed.delta == pytest.approx(2e-10)  # the number of rows is not public here
    assert people.standard_errors["response"] > rows.standard_errors["response"]


def test_a_fit_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    found = hushprice.fit(table_of(drawn(800)), product=NAMED, epsilon=0.5, output=path)
    again = Fit.read(path)
    assert again == found
    assert again.digest == found.digest
    assert os.listdir(tmp_path) == ["fit.json"]
    np.testing.assert_allclose(again.recomputed(NAMED).belief.theta, found.theta, rtol=1e-9, atol=1e-12)
    prior = found.prior(same_people=False)
    assert prior == read_prior(path, same_people=False)
    assert prior.theta == found.theta
    assert (prior.whole_person, prior.same_people) == (False, False)


def test_a_fit_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    path.write_text("{}")
    with pytest.raises(InvalidInput, match="exists already: another fit of the same rows is another budget"):
        hushprice.fit(table_of(drawn(100)), product=NAMED, output=path)


@pytest.mark.parametrize("stopped", [0, 1, 2, 5])
def test_an_interrupted_fit_goes_on_with_the_releases_that_are_out(tmp_path: Path, stopped: int) -> None:
    """Stopped in the middle of a pass, before its noise: what was released before is taken, and nothing drawn twice."""
    path, table, passes = tmp_path / "fit.json", table_of(drawn(500)), []

    def broken(log: Any, add: Any, size: int, **given: Any) -> list[int]:
        if len(passes) == stopped:
            raise KeyboardInterrupt
        passes.append(size)
        return run_pass(log, add, size, **given)

    with pytest.raises(KeyboardInterrupt):
        hushprice.fit(table, product=NAMED, epsilon=1.0, output=path, run=broken)
    assert not path.exists()
    part = tmp_path / "fit.json.part"
    kept = json.loads(part.read_bytes())["releases"] if stopped else []
    assert len(kept) == stopped
    went_on: list[int] = []

    def counted(log: Any, add: Any, size: int, **given: Any) -> list[int]:
        went_on.append(size)
        return run_pass(log, add, size, **given)

    found = hushprice.fit(table, product=NAMED, epsilon=1.0, output=path, run=counted)
    assert [list(each) for each in found.releases[:stopped]] == kept
    assert len(went_on) == 6 - stopped
    assert not part.exists()


def test_killed_after_the_last_release_only_the_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, table = tmp_path / "fit.json", table_of(drawn(500))

    def killed(self: Fit, path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Fit, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            hushprice.fit(table, product=NAMED, epsilon=1.0, output=path)
    kept = json.loads((tmp_path / "fit.json.part").read_bytes())["releases"]

    def never(*given: Any, **more: Any) -> list[int]:
        raise AssertionError("no row is needed any more")

    found = hushprice.fit(table, product=NAMED, epsilon=1.0, output=path, run=never)
    assert [list(each) for each in found.releases] == kept


def test_a_fit_goes_on_with_what_it_began_with_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    table = table_of(drawn(200))

    def broken(log: Any, add: Any, size: int, **given: Any) -> list[int]:
        if size == 6:
            raise KeyboardInterrupt
        return run_pass(log, add, size, **given)

    with pytest.raises(KeyboardInterrupt):
        hushprice.fit(table, product=NAMED, epsilon=1.0, output=path, run=broken)
    with pytest.raises(InvalidInput, match="is of another fit"):
        hushprice.fit(table, product=NAMED, epsilon=2.0, output=path)
    (tmp_path / "fit.json.part").write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read"):
        hushprice.fit(table, product=NAMED, epsilon=1.0, output=path)


def test_two_processes_never_work_on_one_output(tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    with locked(path), pytest.raises(InvalidInput, match="by another process"), locked(path):
        raise AssertionError("never")
    with pytest.raises(InvalidInput, match="cannot be written"), locked(tmp_path / "none" / "fit.json"):
        raise AssertionError("never")
    assert os.listdir(tmp_path) == []


def test_an_output_that_somebody_has_just_made_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked for where nobody else can be making it: another fit of the same rows would be another budget."""
    path = tmp_path / "fit.json"

    @contextmanager
    def ends_first(output: Path) -> Iterator[None]:
        output.write_text("{}")
        with locked(output):
            yield

    monkeypatch.setattr(run_fit, "locked", ends_first)
    with pytest.raises(InvalidInput, match="exists already"):
        hushprice.fit(table_of(drawn(100)), product=NAMED, output=path)
    assert os.listdir(tmp_path) == ["fit.json"]  # and nothing was drawn: a release would be beside it


@pytest.mark.parametrize("third", [False, True])
def test_a_lock_that_its_owner_removed_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, third: bool) -> None:
    """Opened before the owner removed it and held after: meanwhile a third may have made, and have, the next one."""
    path, real = tmp_path / "fit.json", fcntl.flock

    def removed_meanwhile(lock: int, how: int) -> None:
        (tmp_path / "fit.json.lock").unlink()
        if third:
            (tmp_path / "fit.json.lock").touch()
        real(lock, how)

    monkeypatch.setattr(fcntl, "flock", removed_meanwhile)
    with pytest.raises(InvalidInput, match="by another process"), locked(path):
        raise AssertionError("never")


def test_releases_that_cannot_be_kept_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    part = Unfinished(tmp_path / "there" / "fit.json", "asked")
    (tmp_path / "there").rmdir()
    with pytest.raises(InvalidInput, match="cannot be written"):
        part.keep(np.zeros(2))


def test_a_seed_is_for_simulation_alone() -> None:
    table = table_of(drawn(100))
    with pytest.raises(InvalidInput, match="seed is for simulation alone"):
        hushprice.fit(table, product=NAMED, seed=1)
    with pytest.raises(InvalidInput, match="simulation needs a seed"):
        hushprice.fit(table, product=NAMED, simulation=True)
    played = [hushprice.fit(table, product=NAMED, seed=1, simulation=True) for _ in range(2)]
    assert played[0] == played[1]
    with pytest.raises(InvalidInput, match="cannot be a prior"):
        played[0].prior()
    with pytest.raises(InvalidInput, match="cannot be certified"):
        played[0].certificate(None)  # type: ignore[arg-type]


def test_the_same_log_in_other_pieces_gives_the_same_release_to_the_last_digit() -> None:
    whole, cut = drawn(2000, 1), drawn(2000, 1, ends=(5, 900))
    one, other = (hushprice.fit(each, product=PRODUCT, seed=3, simulation=True) for each in (whole, cut))
    assert one.releases == other.releases
    assert one.theta == other.theta


def test_what_is_asked_for_by_mistake_is_refused_by_its_name() -> None:
    table = polars.DataFrame({"price": [22.0, 28.0] * 10, "bought": [True, False] * 10})
    product = hushprice.Product(floor=20, ceiling=30, reference_price=25, conversion=0.5)
    with pytest.raises(InvalidInput, match=r"^rows_per_customer must be a whole number at or above 1, got 1\.5$"):
        hushprice.fit(table, product=product, rows_per_customer=1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"^workers is for an executor of several processes, got 2 and 'serial'$"):
        hushprice.fit(table, product=product, workers=2)
    with pytest.raises(InvalidInput, match=r"^product must be a Product or the path of its file, got None$"):
        hushprice.fit(table, product=None)  # type: ignore[arg-type]


def test_progress_is_told_over_all_passes() -> None:
    told: list[tuple[int, int]] = []
    hushprice.fit(
        drawn(100, ends=(50,)),
        product=PRODUCT,
        seed=3,
        simulation=True,
        progress=lambda done, whole: told.append((done, whole)),
    )
    assert told == [(step, 12) for step in range(1, 13)]


def test_rows_that_were_skipped_are_not_counted_in_public() -> None:
    table = table_of(drawn(1000)).with_columns(price=polars.when(polars.col("age") > 90).then(None).otherwise("price"))
    found = hushprice.fit(table, product=NAMED, epsilon=1.0, on_bad="skip")
    assert found.known is None
    with pytest.raises(InvalidInput, match="price"):
        hushprice.fit(table, product=NAMED, epsilon=1.0)


def test_a_certificate_of_a_fit_is_verified_and_a_forged_one_refused(tmp_path: Path) -> None:
    found = hushprice.fit(table_of(drawn(400), 2), product=NAMED, epsilon=1.0, rows_per_customer=2)
    signing.new_key(tmp_path / "key")
    key = signing.read_key(tmp_path / "key")
    certificate = found.certificate(key)
    shown = verify(certificate, public_key=certificate.public_key)
    assert shown.proven.epsilon == found.proven.epsilon
    assert shown.stated["parameters.fit"].endswith(found.digest)
    assert any("2 rows a unit" in line for line in shown.holds)
    assert any("one customer key" in line for line in shown.unprovable)
    certificate.write(tmp_path / "certificate.json")
    forged = json.loads((tmp_path / "certificate.json").read_text())
    forged["sections"][1]["content"]["noise"]["description"][1] *= 0.5
    with pytest.raises(InvalidInput, match=r"parameters.hash does not match"):
        verify(Certificate.parse(json.dumps(forged).encode()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "another"}, "it is not what"),
        ({"unit": "house"}, "unit must be"),
        ({"names": ["one"]}, "theta"),
        ({"simulated": True}, "event.live must be true"),
        ({"count": "many"}, "does not add up"),
        ({"proven": {"epsilon": 9.0, "delta": 1e-6}}, "above what is claimed"),
    ],
)
def test_files_that_do_not_add_up_are_refused_in_one_line(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = tmp_path / "fit.json"
    hushprice.fit(table_of(drawn(100)), product=NAMED, output=path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match=words) as problem:
        Fit.read(path)
    assert "\n" not in str(problem.value)


def test_releases_must_be_all_of_a_fit() -> None:
    found = hushprice.fit(drawn(100), product=PRODUCT, epsilon=1.0)
    from dataclasses import replace

    with pytest.raises(InvalidInput, match="releases must be all 6"):
        replace(found, releases=found.releases[:3]).recomputed(PRODUCT)


def test_a_product_can_start_from_a_fit() -> None:
    found = hushprice.fit(drawn(5000, 2, THETA), product=PRODUCT, epsilon=3.0)
    prior = found.prior()
    assert prior.contexts == 2
    assert prior.mu is not None
    assert prior.paid is not None
