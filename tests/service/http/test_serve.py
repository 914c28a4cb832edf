"""`hushprice serve` as users run it: two processes, files with keys, clean ends, and one line for what is wrong."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.service.clock import pass_deadlines
from tests.service.conftest import as_quoter
from tests.service.http.running import CUSTOMER, PRODUCT
from tests.waiting import PATIENCE, eventually

from hushprice.cli import main
from hushprice.service.shared import setup
from hushprice.service.shared.config import build
from hushprice.service.store import open_store

START = ["-c", "from hushprice.cli import main; main()"]
COMMAND = [sys.executable, *START]


class Served:
    """A service in a folder of its own."""

    def __init__(self, folder: Path, *options: str, python: str = sys.executable, **environment: str) -> None:
        self.folder = folder
        self._log = open(folder / "log.txt", "a+b")  # noqa: SIM115 - closed in `close`
        self.process = subprocess.Popen(
            [python, *START, "serve", "--port", "0", "--operator-port", "0", *options],
            cwd=folder,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, "HUSHPRICE_STORE": "shop.db", **environment},
        )
        found = self.wait_for(r"serving (http\S+), for the operator (http\S+);")
        self.public, self.operator = (
            httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) for url in found.groups()
        )

    def log(self) -> str:
        return (self.folder / "log.txt").read_text()

    def wait_for(self, pattern: str) -> re.Match[str]:
        found = eventually(lambda: re.search(pattern, self.log()) or self.process.poll() is not None)
        assert isinstance(found, re.Match), self.log()
        return found

    def key(self, role: str) -> dict[str, str]:
        table = tomllib.loads((self.folder / "shop.db.keys.toml").read_text())
        return {"authorization": f"Bearer {table['keys'][role]}"}

    def seen(self) -> Path:
        """The file with what this machine has seen of the store."""
        settings = build({"store": str(self.folder / "shop.db")})
        store = open_store(str(self.folder / "shop.db"), "quoter")
        try:
            return setup.seen_path(settings, store)
        finally:
            store.close()

    def learner(self) -> int | None:
        """The child's process id."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def close(self) -> None:
        self.public.close()
        self.operator.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("served"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def sold(served: Served) -> Served:
    """The same, after a hundred and one quotes of which forty were bought, and past their deadlines.

    A fixture, because the tests of a file may be divided between processes, each with a service of its own.
    """
    public, admin, shop = served.public, served.key("admin"), served.key("shop")
    eventually(lambda: public.get("/readyz/learning").status_code == 200)
    spec = {**PRODUCT, "holdout": 0.1, "epsilon": 5.0}
    assert public.post("/v1/products", json=spec, headers=admin).status_code == 201
    body = {"quotes": [{"product": "umbrella", "attributes": CUSTOMER}] * 50}
    quotes = [
        each for _ in range(2) for each in public.post("/v1/quotes/batch", json=body, headers=shop).json()["quotes"]
    ]
    for quote in quotes[:40]:
        told = public.post(f"/v1/quotes/{quote['id']}/outcome", json={"purchased": True}, headers=shop)
        assert told.status_code == 200
    old = {"product": "umbrella", "attributes": {**CUSTOMER, "age": 130}}
    assert public.post("/v1/quotes", json=old, headers=shop).status_code == 201
    pass_deadlines(str(served.folder / "shop.db"))
    return served


def test_a_shop_is_learned_from_end_to_end(sold: Served) -> None:
    served, public, shop = sold, sold.public, sold.key("shop")
    privacy = "/v1/products/umbrella/privacy"
    eventually(lambda: public.get(privacy).json()["versions"] >= 1)
    after = public.get(privacy).json()
    assert after["spent"] == after["proven"]
    report = public.get("/v1/products/umbrella/report").json()
    assert [each["sequence"] for each in report["releases"]] == list(range(1, len(report["releases"]) + 1))
    assert len(report["releases"]) >= after["releases"] >= 1
    eventually(lambda: public.get("/v1/products/umbrella/certificate").status_code == 200)
    assert "noisy-newton" in public.get("/v1/products/umbrella/certificate").text
    assert not list(served.folder.glob("*seen*"))  # one backup of the folder must not set both back
    assert '"umbrella"' in served.seen().read_text()
    assert (
        public.post("/v1/quotes", json={"product": "umbrella", "attributes": CUSTOMER}, headers=shop).json()["version"]
        >= 1
    )


def test_raw_figures_are_on_the_operators_port_for_an_admin_alone(sold: Served) -> None:
    served, path = sold, "/v1/operator/products/umbrella/figures"
    eventually(lambda: served.operator.get("/v1/products/umbrella").status_code == 200)  # its process looks by itself
    assert served.public.get(path, headers=served.key("admin")).status_code == 404
    assert served.operator.get(path).status_code == 401
    assert served.operator.get(path, headers=served.key("auditor")).status_code == 403
    assert served.operator.get(path, headers=served.key("shop")).status_code == 403

    def raw() -> Any:
        return served.operator.get(path, headers=served.key("admin")).json()

    eventually(lambda: raw()["fit_seconds"]["count"] >= 1 and raw()["clipped"]["attributes"])
    body = raw()
    assert body.get("label") == "operator-only", body
    assert body["figures"]["quoted"] >= 100
    assert body["figures"]["bought"] == 40
    assert sum(each["quoted"] for each in body["daily"]) >= 100  # of two days, at midnight
    assert body["clipped"]["attributes"] == 1
    assert body["revenue"]["personal_per_quote"] > 0
    assert served.operator.get("/v1/products").status_code == 200
    assert served.operator.post("/v1/quotes", json={}, headers=served.key("shop")).status_code in (404, 405)


def test_the_operator_sees_what_keys_do_and_the_public_does_not(sold: Served) -> None:
    served, path = sold, "/v1/operator/activity"
    assert served.public.get(path, headers=served.key("admin")).status_code == 404
    assert served.operator.get(path, headers=served.key("auditor")).status_code == 403

    def seen() -> Any:
        return served.operator.get(path, headers=served.key("admin")).json()

    eventually(lambda: seen()["keys"] and (seen()["record_answers"] or {"2xx": 0})["2xx"] >= 40)
    (key,) = [each for each in seen()["keys"] if (each["key"], each["product"]) == ("shop", "umbrella")]
    assert key["quotes"] >= 100
    auditor = served.key("auditor")
    operator, public = (each.get("/metrics", headers=auditor) for each in (served.operator, served.public))
    assert operator.status_code == public.status_code == 200
    assert "hushprice_key_alarms_total" in operator.text
    assert "hushprice_key_alarms_total" not in public.text


def test_a_learner_that_dies_is_started_again_and_readyz_says_so(served: Served) -> None:
    before = eventually(served.learner)

    def away_when_killed() -> bool:
        """It is for half a second, which a slow machine may miss; each time it dies again, for twice as long."""
        learner = served.learner()
        if learner is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(learner, signal.SIGKILL)
        return bool(served.public.get("/readyz").json()["learner"] == "away")

    eventually(away_when_killed)
    assert served.public.get("/healthz").status_code == 200
    eventually(lambda: served.learner() not in (None, before))
    eventually(lambda: served.public.get("/readyz/learning").status_code == 200)
    assert "the learner's process ended" in served.log()


def test_no_secret_and_no_attribute_is_ever_printed(served: Served) -> None:
    table = tomllib.loads((served.folder / "shop.db.keys.toml").read_text())
    metrics = served.public.get("/metrics", headers=served.key("admin"))
    assert metrics.status_code == 200
    printed = served.log() + re.sub(r" \S+$", "", metrics.text, flags=re.MULTILINE)  # counts may be anything
    for secret in (*table["keys"].values(), table["customers"]["secret"], "41", "north"):
        # Not within the hexadecimal digits of a request's or a key's id.
        assert not re.search(rf"(?<![\da-f.:-]){re.escape(secret)}(?![\da-f])", printed)
    assert str(served.folder / "shop.db.keys.toml") in printed
    for ending in ("", ".keys.toml", ".signing.pem"):
        assert (served.folder / f"shop.db{ending}").stat().st_mode & 0o077 == 0


def test_sigterm_ends_both_processes_cleanly(served: Served) -> None:
    learner = eventually(served.learner)
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(PATIENCE) == 0
    assert not alive(learner)
    assert "Traceback" not in served.log()


def test_a_learner_ends_with_a_quoter_that_was_killed(tmp_path: Path) -> None:
    served = Served(tmp_path)
    try:
        learner = eventually(served.learner)
        eventually(lambda: served.public.get("/readyz/learning").status_code == 200)
        served.process.kill()
        served.process.wait()
        eventually(lambda: not alive(learner))
    finally:
        served.close()


def test_on_postgresql_quoters_and_a_learner_are_processes_of_their_own(
    call: Callable[..., Any], postgres_uri: str, tmp_path: Path
) -> None:
    code, _, err = call("serve", "--store", postgres_uri, "--init")
    assert code == 0
    assert "hushprice_quoter" in err
    log = open(tmp_path / "log.txt", "a+b")  # noqa: SIM115 - shared by both
    sides = {"learner": postgres_uri, "quoter": as_quoter(postgres_uri)}
    words = ["--port", "0", "--operator-port", "0", "--role"]
    started = [
        subprocess.Popen(
            [*COMMAND, "serve", *words, role], cwd=tmp_path, stdout=log, stderr=log, env={**os.environ, **_at(address)}
        )
        for role, address in sides.items()
    ]
    try:
        found = eventually(lambda: re.search(r"serving (http\S+);", (tmp_path / "log.txt").read_text()))
        table = tomllib.loads((tmp_path / "hushprice.keys.toml").read_text())["keys"]
        with httpx.Client(base_url=found[1], timeout=PATIENCE, trust_env=False) as client:
            eventually(lambda: client.get("/readyz/learning").status_code == 200)
            made = client.post("/v1/products", json=PRODUCT, headers={"x-api-key": table["admin"]})
            assert made.status_code == 201
            body = {"product": "umbrella", "attributes": CUSTOMER}
            assert client.post("/v1/quotes", json=body, headers={"x-api-key": table["shop"]}).status_code == 201
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(PATIENCE) for process in started]
        log.close()
    assert codes == [0, 0]


def _at(address: str) -> dict[str, str]:
    return {"HUSHPRICE_STORE": address}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    """Run the command in this process."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hushprice", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        said = capfd.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return run


def test_what_is_wrong_is_one_line_and_exit_code_2(call: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("prot = 1")
    (tmp_path / "text.db").write_text("this is no database, whatever its name says. " * 40)
    taken = socket.create_server(("127.0.0.1", 0))
    port = str(taken.getsockname()[1])
    free = ("--port", "0", "--operator-port", "0")
    cases = [
        (("--port", port), f"port {port} is in use"),
        (("--port", "0", "--operator-port", port), f"operator_port: port {port} is in use"),
        (("--config", "bad.toml"), "'prot'"),
        (("--store", str(tmp_path), *free), "cannot be opened"),
        (("--store", "nowhere/shop.db", *free), "'nowhere' does not exist"),
        (("--store", "text.db", *free), "not a SQLite database"),
        (("--store", "mysql://host/db", *free), "postgresql://..."),
        (("--store", "postgresql://127.0.0.1:1/none", *free), "cannot be reached"),
        (("--role", "quoter"), "needs a PostgreSQL store"),
        (("--role", "king"), "setting role"),
        (("--init",), "SQLite file needs no preparation"),
    ]
    try:
        for words, said in cases:
            code, out, err = call("serve", *words)
            assert (code, out) == (2, ""), words
            assert said in err, (words, err)
            assert err.count("\n") == 1
            assert err.startswith("hushprice: ")
    finally:
        taken.close()


def test_without_the_extra_its_name_is_said(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("hushprice.service.quoting.quoter_main")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvloop", None)
    code, _, err = call("serve", "--port", "0", "--operator-port", "0")
    assert code == 2
    assert "hushprice[service]" in err


def test_keys_are_managed_from_the_command_line(call: Callable[..., Any]) -> None:
    code, key, _ = call("keys", "add", "--store", "shop.db", "--role", "shop", "--name", "web")
    assert code == 0
    assert key.startswith("hp_shop_")
    assert call("keys", "list", "--store", "shop.db")[1].startswith("shop\tweb\t")
    assert call("keys", "remove", "--store", "shop.db", "--name", "web")[0] == 0
    assert call("keys", "list", "--store", "shop.db")[1] == ""
    assert call("keys", "remove", "--store", "shop.db", "--name", "web")[0] == 2
