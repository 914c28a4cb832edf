"""A real `hushprice serve` on a SQLite file, and a real Chromium that looks at it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright
from tests.ports import free_ports
from tests.service.clock import pass_deadlines
from tests.waiting import PATIENCE, eventually

START = "from hushprice.cli import main; main()"
WAIT = PATIENCE * 1000  # ms: a busy machine, not a slow page
# A weak promise needs few quotes for its first release.
QUICK = {"epsilon": 8, "horizon": 10_000, "currency": "EUR", "ceiling": 60}
RIDE = {
    "name": "ride",
    "reference_price": 30,
    "unit_cost": 4.5,
    "holdout": 0.2,
    "schema": {
        "attributes": [
            {"kind": "number", "name": "hours_ahead", "low": 0, "high": 72},
            {"kind": "category", "name": "region", "levels": ["south", "north", "west"]},
            {"kind": "boolean", "name": "member"},
        ]
    },
}
RIDER = {"hours_ahead": 6, "region": "north", "member": True}


class Service:
    """`hushprice serve` as its own process, on ports of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.operator_port = free_ports(2)
        self.url, self.operator_url = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.operator_port}"
        self._client = httpx.Client(timeout=PATIENCE, trust_env=False)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, open_page: bool = True) -> None:
        config = self.folder / "shop.toml"
        config.write_text(
            f'store = "{self.folder / "shop.db"}"\nport = {self.port}\noperator_port = {self.operator_port}\n'
            f"open_page = {str(open_page).lower()}\nrate_per_second = 1e6\n"
        )
        command = [sys.executable, "-c", START, "serve", "--config", str(config)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        for url in self._urls:
            self._until_ready(f"{url}/readyz/learning")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=PATIENCE)
            self._process = None

    def close(self) -> None:
        self._client.close()
        self.stop()

    def key(self, role: str) -> str:
        return str(tomllib.loads((self.folder / "shop.db.keys.toml").read_text())["keys"][role])

    def post(self, path: str, body: dict[str, Any], role: str = "shop") -> Any:
        headers = {"Authorization": f"Bearer {self.key(role)}"}
        answer = self._client.post(f"{self.url}/v1/{path}", json=body, headers=headers)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def product(self, **fields: Any) -> None:
        self.post("products", {**QUICK, **fields}, "admin")

    def sell(self, product: str, customers: int, attributes: dict[str, Any], bought: int) -> None:
        """So many quotes at once; the first `bought` of them are bought, the others declined. Then all are due."""
        asked = {"quotes": [{"product": product, "attributes": attributes}] * customers}
        quotes = self.post("quotes/batch", asked)["quotes"]
        for index, quote in enumerate(quotes):
            self.post(f"quotes/{quote['id']}/outcome", {"purchased": index < bought})
        pass_deadlines(str(self.folder / "shop.db"))

    def released(self, product: str) -> None:
        """Wait until prices have moved, no other release will come of the quotes so far, and all is certified."""
        at = f"/v1/products/{product}"
        eventually(lambda: self._is_learned(*(self._client.get(f"{url}{at}/privacy") for url in self._urls)))
        eventually(lambda: self._client.get(f"{self.url}{at}/certificate").status_code == 200)

    @property
    def _urls(self) -> tuple[str, str]:
        return self.url, self.operator_url

    def _is_learned(self, *answers: httpx.Response) -> bool:
        """To either process: each looks at the store by itself."""
        told = [each.json() for each in answers if each.status_code == 200]
        return len(told) == len(answers) and all(
            each["versions"] >= 1 and each["next_release_after_slot"] > each["quotes"] for each in told
        )

    def _until_ready(self, url: str) -> None:
        def ready() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "log").read_text()
            try:
                return self._client.get(url).status_code == 200
            except httpx.TransportError:
                return False

        eventually(ready)


class Visit:
    """One tab. Whatever goes wrong in it, or leaves the service, is noted."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(WAIT)
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", self._complained)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _complained(self, line: ConsoleMessage) -> None:
        # A learner that compiles is away for a while, and the browser notes every "not ready" as an error.
        if line.type == "error" and not line.location["url"].endswith("/readyz"):
            self.errors.append(line.text)

    def open(self, url: str) -> Page:
        self.page.goto(url)
        return self.page

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def until(self, selector: str, text: str) -> None:
        """Wait for a text to show up, by the page's own polling."""
        self.page.locator(selector, has_text=text).first.wait_for(state="visible")


@pytest.fixture(scope="module")
def ride() -> dict[str, Any]:
    return RIDE


@pytest.fixture(scope="module")
def rider() -> dict[str, Any]:
    return RIDER


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("service"))
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Root, as in a container, has no sandbox.
        arguments = ["--no-sandbox", "--disable-gpu"]
        opened = playwright.chromium.launch(executable_path=chromium, args=arguments, timeout=WAIT)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visit]]:
    """Opens tabs; afterwards none may have complained or asked another host."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def new(width: int = 1280, expected: tuple[str, ...] = (), **options: Any) -> Visit:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        visits.append(Visit(contexts[-1]))
        visits[-1].errors = _Unless(expected)
        return visits[-1]

    yield new
    for each in contexts:
        each.close()
    for each in visits:
        assert each.errors == []
        assert not [url for url in each.asked if not url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:"))]


class _Unless(list[str]):
    """Complaints, without those that a test is about."""

    def __init__(self, expected: tuple[str, ...]) -> None:
        super().__init__()
        self._expected = expected

    def append(self, text: str) -> None:
        if not any(each in text for each in self._expected):
            super().append(text)
