"""Two worlds that differ in one customer's record, through HTTP: nothing but releases tells them apart."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.service.conftest import _database
from tests.service.http.two_worlds import ONE, OTHER, VIEWERS, SameReleases, Seen, different, play

RANDOM_OR_TIMED = {"clock", "lease", "identity", "trail"}
OF_THE_LEARNER = {"learner", "record", "tally"}  # nobody else's role reads the first two; the third is the operator's


_WHEN = ("before any release", "after releases", "in the end")
World = tuple[Seen, dict[str, list[str]]]


def coupled(folder: Path, uris: Sequence[str | None]) -> list[World]:
    """Both worlds, with the releases of the first."""
    releases, worlds = SameReleases(), []
    for name, record, uri in zip(("one", "other"), (ONE, OTHER), uris, strict=True):
        with releases.world():
            worlds.append(play(folder / name, record, uri))
    return worlds


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[World]:
    return coupled(tmp_path_factory.mktemp("worlds"), (None, None))


def test_with_the_same_releases_nobody_sees_which_record_there_was(worlds: list[World]) -> None:
    (one, _), (other, _) = worlds
    assert different(one, other) == []
    for viewer in VIEWERS:
        assert sum(f": {viewer} " in what for what in one) > 150


def test_what_is_looked_at_is_alive(worlds: list[World]) -> None:
    """Prices moved with releases, certificates were signed, refusals were met: equal nothings would prove nothing."""
    seen = worlds[0][0]
    codes = {answer[:3] for answer in seen.values()}
    assert {"200", "201", "401", "403", "404", "405", "422"} <= codes
    prices = {when: seen[f"{when}: None GET /v1/products/umbrella/prices"] for when in ("after releases", "in the end")}
    assert prices["after releases"] != prices["in the end"]
    assert '"signature"' in seen["in the end: auditor GET /v1/products/umbrella/certificate"]
    assert '"score"' in seen["in the end: None GET /v1/products/umbrella/report"]
    for product, public in (("scarf", "demand?x1=0.5"), ("tea", "belief")):
        told = {when: seen[f"{when}: None GET /v1/products/{product}/{public}"] for when in _WHEN}
        assert len(set(told.values())) == len(_WHEN)
        assert '"moments"' in seen[f"in the end: None GET /v1/products/{product}/report"]


def test_with_the_same_releases_the_database_differs_in_what_the_learner_alone_reads(
    worlds: list[World],
) -> None:
    (_, one), (_, other) = worlds
    assert {"quote", "release", "certificate", "product", "seen", *RANDOM_OR_TIMED, *OF_THE_LEARNER} <= set(one)
    assert {name for name in one if one[name] != other[name]} <= RANDOM_OR_TIMED | OF_THE_LEARNER
    assert one["tally"] != other["tally"]  # the worlds did differ


def test_so_it_is_on_postgresql(postgres_server: str, tmp_path: Path) -> None:
    uris = [_database(postgres_server, f"world_{secrets.token_hex(6)}") for _ in range(2)]
    (one, _), (other, _) = coupled(tmp_path, uris)
    assert different(one, other) == []


def test_without_them_prices_alone_differ_and_only_after_a_release(tmp_path: Path) -> None:
    """The learner's own releases, with the same noise: later prices and what is made of them, and nothing before."""
    one, _ = play(tmp_path / "one", ONE, viewers=(None,))
    other, _ = play(tmp_path / "other", OTHER, viewers=(None,))
    told = different(one, other)
    assert told
    made = ("second quote", "/prices", "/demand", "/report", "/certificate", "/belief", "/health")
    assert [what for what in told if not any(each in what for each in made)] == []
    assert not [what for what in told if what.startswith(("first", "before"))]
