"""hushprice certificate and verify, from a key to a refusal."""

from __future__ import annotations

import datetime
import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hushprice import open_pricer
from hushprice.noise import Tape
from hushprice.privacy.certificates import signing

CONTEXT, DEMAND = 0.31415926535, 7.654321  # recognisable, and the second is clipped


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key, a pricer early and late in its life, and the certificate of the early one."""
    folder = tmp_path_factory.mktemp("shop")
    pricer = open_pricer(policy="paper", horizon=200, contexts=1, max_estimates=3, exploration_periods=3)
    pricer.save(folder / "early.pricer")
    signing.new_key(folder / "shop.key")
    key = signing.read_key(folder / "shop.key")
    pricer.certificate(key, issued=datetime.date(2026, 10, 1)).write(folder / "early.json")
    for _ in range(30):
        pricer.observe(pricer.quote([CONTEXT]).id, DEMAND)
    if pricer.learner.estimates_left:  # live noise decides how many there were already
        pricer.learner.estimate(31)
    pricer.save(folder / "late.pricer")
    return folder


@pytest.fixture
def shop(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to work in."""
    folder = shutil.copytree(original, tmp_path / "shop")
    monkeypatch.chdir(folder)
    return folder


def test_the_command_issues_what_the_library_does(shop: Path, call: Callable) -> None:
    ran = call("certificate --pricer early.pricer --key shop.key --output same.json --date 2026-10-01")
    assert ran == (0, "wrote same.json\n", "")
    assert (shop / "same.json").read_bytes() == (shop / "early.json").read_bytes()


def test_a_certificate_is_issued_and_verified(shop: Path, call: Callable) -> None:
    code, out, err = call("verify early.json --public-key shop.key.pub")
    assert (code, err) == (0, "")
    kinds = [line.partition(":")[0] for line in out.splitlines()]
    assert sorted(set(kinds)) == ["holds", "no file can prove", "stated, not checkable"]
    assert "with the public key given" in out
    assert "mechanism.issued: when it was issued: 2026-10-01" in out


def test_without_a_key_nobody_is_named(shop: Path, call: Callable) -> None:
    assert "tells nothing about who holds it" in call("verify early.json").out


def test_one_certificate_follows_another(shop: Path, call: Callable) -> None:
    ran = call("certificate --pricer late.pricer --key shop.key --output late.json --previous early.json")
    assert ran == (0, "wrote late.json\n", "")
    code, out, err = call("verify late.json --previous early.json --format json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    sections = ["claimed", "proven", "spent", "customer", "holds", "stated", "unprovable", "outside_the_guarantee"]
    assert list(found) == sections
    assert (found["customer"], found["outside_the_guarantee"]) == (None, [])  # of the pricing service alone
    assert found["spent"]["epsilon"] <= found["proven"]["epsilon"] <= found["claimed"]["epsilon"] == 1.0
    assert "follows" in found["holds"][-1]
    ran = call("certificate --pricer early.pricer --key shop.key --output again.json --previous late.json")
    assert ran.code == 2
    assert "events.spent counts 0 estimates, the previous certificate" in ran.err
    assert not (shop / "again.json").exists()


def test_nothing_raw_is_inside(shop: Path, call: Callable) -> None:
    call("certificate --pricer late.pricer --key shop.key --output late.json")
    text = (shop / "late.json").read_text()
    assert "clip" not in text
    for raw in ("3141592", f"{CONTEXT / 2**0.5:.5f}", "65432"):
        assert raw not in text


def test_the_pricer_is_left_as_it_is(shop: Path, call: Callable) -> None:
    before = (shop / "late.pricer").read_bytes()
    call("certificate --pricer late.pricer --key shop.key --output late.json")
    assert (shop / "late.pricer").read_bytes() == before


def test_the_key_is_its_owners_and_stays(shop: Path, call: Callable) -> None:
    assert stat.S_IMODE((shop / "shop.key").stat().st_mode) == 0o600
    before = (shop / "shop.key").read_bytes()
    code, out, err = call("certificate --new-key shop.key")
    assert (code, out) == (2, "")
    assert "exists already and is not overwritten" in err
    assert (shop / "shop.key").read_bytes() == before


def test_simulated_noise_is_refused(shop: Path, call: Callable) -> None:
    open_pricer(policy="paper", horizon=50, contexts=1, source=Tape(1, 2), simulation=True).save("toy.pricer")
    code, out, err = call("certificate --pricer toy.pricer --key shop.key --output toy.json")
    assert (code, out) == (2, "")
    assert "simulated noise protects nobody" in err


BAD = {
    "certificate": "--pricer or --fit, --key and --output must be given",
    "certificate --new-key a.key --pricer late.pricer": "--new-key makes a key and nothing else",
    "certificate --pricer absent --key shop.key --output a.json": "'absent' cannot be read",
    "certificate --pricer late.pricer --key absent --output a.json": "key file 'absent' cannot be read",
    "certificate --pricer late.pricer --key shop.key.pub --output a.json": "holds no private key",
    "certificate --pricer late.pricer --key shop.key --output early.json": "exists already",
    "certificate --pricer late.pricer --key shop.key --output no/a.json": "cannot be written",
    "certificate --pricer late.pricer --key shop.key --output a.json --previous shop.key": "it is not JSON",
    "certificate --pricer late.pricer --key shop.key --output a.json --date today": "'today'",
    "certificate --pricer early.json --key shop.key --output a.json": "is not a saved pricer",
    "verify": "Missing argument 'FILE'",
    "verify absent.json": "certificate 'absent.json' cannot be read",
    "verify .": "cannot be read",
    "verify late.pricer": "certificate 'late.pricer': it is not",
    "verify early.json --public-key shop.key": "holds no public key",
    "verify early.json --public-key other.key.pub": "public_key is",
    "verify early.json --previous early.json": "previous is None, not the certificate given",
    "verify early.json --format xml": "'xml'",
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input_is_one_line(shop: Path, call: Callable, command: str) -> None:
    assert call("certificate --new-key other.key").code == 0
    files = sorted(shop.iterdir())
    code, out, err = call(command)
    assert (code, out) == (2, "")
    assert BAD[command] in err
    assert err.startswith("hushprice: ")
    assert err.count("\n") == 1
    assert sorted(shop.iterdir()) == files


def test_a_changed_file_is_refused_by_the_field(shop: Path, call: Callable) -> None:
    changed = (shop / "early.json").read_text().replace('"horizon": 200', '"horizon": 300')
    (shop / "changed.json").write_text(changed)
    code, out, err = call("verify changed.json")
    assert (code, out) == (2, "")
    assert err.startswith("hushprice: certificate 'changed.json': parameters.hash does not match")
