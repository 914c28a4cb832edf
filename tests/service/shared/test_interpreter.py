"""Which Python the service refuses to run on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hushprice.errors import InvalidInput
from hushprice.numerics import jit
from hushprice.service.shared.interpreter import check_interpreter


def test_serve_refuses_uncompiled_code_in_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "hushprice", "serve", "--port", "0", "--operator-port", "0"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hushprice: NUMBA_DISABLE_JIT is set")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_interpreter_without_its_lock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "COMPILED", True)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: True, raising=False)
    check_interpreter()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False)
    with pytest.raises(InvalidInput, match="PYTHON_GIL=1"):
        check_interpreter()
    monkeypatch.delattr(sys, "_is_gil_enabled")  # before 3.13 there is no other kind
    check_interpreter()
