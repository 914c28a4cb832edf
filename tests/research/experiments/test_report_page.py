"""report.html as its readers meet it: well-formed, in need of nothing else, and, where a Chromium is found, opened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hushprice.research.experiments.registry import EXPERIMENTS

VOID = {"meta", "img", "br", "hr", "input", "link", "col", "source", "wbr", "base", "area", "embed", "track"}
LOADS = {"src", "href", "srcset", "data", "poster", "action", "formaction", "background", "cite", "manifest"}
# The browser talks over descriptors 3 and 4, which the pipe's own may be.
START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
SHOWN = """JSON.stringify({
    title: document.title,
    mode: document.compatMode,
    sections: [...document.querySelectorAll("h2")].map(each => each.textContent),
    pictures: [...document.images].map(each => [each.alt, each.complete && each.naturalWidth, each.width]),
    rows: [...document.querySelectorAll("table")].map(each => each.rows.length),
    width: document.documentElement.scrollWidth - document.documentElement.clientWidth,
})"""


class Strict(HTMLParser):
    """Refuses what browsers would quietly mend: tags left open or closed twice, ids used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in <{tag}>"
        assert tag not in {"script", "iframe", "object", "embed", "link", "base"}
        for name, value in attrs:
            assert not name.startswith("on"), f"a handler in <{tag}>"
            assert name != "style" or "url(" not in (value or "")
            if name in LOADS:
                self.loads.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert self.open[-1:] != ["style"] or not any(word in data for word in ("url(", "@import"))
        assert self.open or not data.strip()

    def finish(self) -> None:
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)
        for value in self.loads:
            assert value.startswith("data:") or (value[:1] == "#" and value[1:] in self.ids), value[:80]


class Browser:
    """A Chromium without a window, driven by its own protocol: JSON messages, each ended by a zero byte."""

    def __init__(self, program: str, profile: Path) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        ends = [str(theirs_in), str(theirs_out)]
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "--window-size=1280,900"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, *ends, program, *flags, "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest, self._last, self._session = b"", 0, {}
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command; what happens meanwhile goes to `events`."""
        self._last += 1
        sent = {"id": self._last, "method": method, "params": parameters, **self._session}
        os.write(self._out, json.dumps(sent).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._last:
                assert "error" not in message, message
                answer: dict[str, Any] = message["result"]
                return answer
            self.events.append(message)

    def wait_for(self, method: str) -> None:
        while not any(each.get("method") == method for each in self.events):
            self.events.append(self._message())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 16)
            assert more, "the browser has gone"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


@pytest.fixture
def browser(chromium: str, tmp_path: Path) -> Iterator[Browser]:
    opened = Browser(chromium, tmp_path / "profile")
    yield opened
    opened.close()


def test_the_page_is_well_formed_and_refers_to_nothing_outside(whole_report: str) -> None:
    strict = Strict()
    strict.feed(whole_report)
    strict.finish()
    assert whole_report.startswith("<!doctype html>")
    assert strict.loads


@pytest.mark.parametrize(
    "broken",
    ["<p><b></p></b>", "<p>", "</p>", "<p id='a'></p><p id='a'></p>", "<a href='#gone'></a>", "<img src='x.png'>"],
)
def test_a_broken_page_would_be_caught(broken: str) -> None:
    strict = Strict()
    with pytest.raises(AssertionError):  # noqa: PT012 - either step may be the one that notices
        strict.feed(broken)
        strict.finish()


def test_a_browser_shows_all_of_it_and_asks_for_nothing_else(
    whole_report: str, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(whole_report)
    for domain in ("Page", "Network", "Log", "Runtime"):
        browser.ask(f"{domain}.enable")
    browser.ask("Page.navigate", url=file.as_uri())
    browser.wait_for("Page.loadEventFired")
    shown = json.loads(browser.ask("Runtime.evaluate", expression=SHOWN)["result"]["value"])
    assert shown["title"] == "The paper's numbers, run again"
    assert shown["mode"] == "CSS1Compat"
    for each in EXPERIMENTS:
        assert any(title.startswith(f"{each.label}: ") for title in shown["sections"])
    assert len(shown["pictures"]) == whole_report.count("<img")
    for name, natural, width in shown["pictures"]:
        assert natural > 100, name
        assert width > 100, name
    assert len(shown["rows"]) == whole_report.count("<table")
    assert min(shown["rows"]) > 1
    assert shown["width"] <= 0  # wide tables scroll inside; the page does not
    asked = [each["params"]["request"]["url"] for each in browser.events if _tail(each) == "requestWillBeSent"]
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
    assert not [each for each in browser.events if _tail(each) in ("entryAdded", "exceptionThrown", "loadingFailed")]


def _tail(event: dict[str, Any]) -> str:
    return str(event.get("method", "")).partition(".")[2]
