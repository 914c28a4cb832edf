"""docs/reference/http.md is what the service says about itself."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from hushprice.service.http.routes.table import CALLS

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "reference" / "http.md").read_text()


def test_the_page_is_up_to_date(page):
    generated = runpy.run_path(str(DOCS / "generate.py"))["http_page"]()
    assert page == generated, "run `make docs`"


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_every_call_is_documented(page, call):
    _, _, section = page.partition(f"### `{call.method} {call.path}`\n")
    section = section.partition("\n### ")[0]
    assert call.summary in section
    _, _, usual = page.partition("\nCalls about a product, or that need the store, ")
    usual = " ".join(usual.partition("\n\n")[0].split())
    for status in (*call.answers, *call.refusals):
        text = call.refusals.get(status)
        assert re.search(rf"^- {status}[: ]", section, flags=re.MULTILINE) or f"{status} ({text})" in usual


def test_calls_and_fields_named_in_the_guides_exist():
    paths = {f"{call.method} {call.path}" for call in CALLS}
    for name in ("guide/service.md", "guide/operations.md"):
        for method, path in re.findall(r"`(GET|POST|PUT) (/v1/[\w/{}-]+)`", (DOCS / name).read_text()):
            shape = re.sub(r"/products/(?!\{)\w+", "/products/{name}", path)
            assert f"{method} {shape}" in paths, f"{name}: {method} {path}"
