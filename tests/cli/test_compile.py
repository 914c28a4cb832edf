"""The verb that an image is built with."""

from __future__ import annotations

import pytest

from hushprice.numerics import jit
from hushprice.service.learning import precompile_learner
from hushprice.service.quoting import precompile


def test_what_quotes_and_what_learns_is_compiled_and_where_it_is_kept_is_said(
    call, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    monkeypatch.setattr(precompile, "precompile", lambda: done.append("quotes"))
    monkeypatch.setattr(precompile_learner, "precompile_learner", lambda: done.append("learns"))
    found = call("compile")
    assert (found.code, found.out, done) == (0, f"{jit.FOLDER}\n", ["quotes", "learns"])
