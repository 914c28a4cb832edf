"""Where compiled code is kept: a folder that changes with what kernels are made of, and no other edit."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from numba.core import config

from hushprice.numerics import jit

STEP = "from hushprice.numerics.jit import step\nfrom hushprice.rules import (\n    GROWTH,\n)\n"
PACKAGE = {
    "__init__": "",
    "numerics/__init__": "",
    "numerics/jit": "",
    "belief": STEP,
    "rules": "from hushprice import checks\nGROWTH = 1.5",
    "checks": "",
    "cli/main": "from hushprice import belief",
    "service/routes": "from hushprice.belief import learn",
}


def package(folder: Path, **changed: str) -> str:
    """The path of numerics/jit.py in a small package with these modules."""
    for name, text in (PACKAGE | {name.replace("__", "/"): text for name, text in changed.items()}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    return str(folder / "numerics" / "jit.py")


def key(folder: Path, monkeypatch: pytest.MonkeyPatch, **changed: str) -> str:
    monkeypatch.setattr(jit, "__file__", package(folder, **changed))
    return jit._cache_folder()


@pytest.mark.parametrize(
    "changed",
    [
        {"belief": STEP + "x = 1"},
        {"rules": "from hushprice import checks\nGROWTH = 2.0"},
        {"checks": "x = 1"},
        {"numerics__jit": "x = 1"},
        {"other": STEP},
        {"gpu": "    import numba"},
    ],
)
def test_an_edit_of_what_steps_are_made_of_moves_the_cache(
    changed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(tmp_path / "before", monkeypatch)
    assert key(tmp_path / "same", monkeypatch) == before
    assert key(tmp_path / "after", monkeypatch, **changed) != before


@pytest.mark.parametrize("changed", [{"cli__main": "x = 1"}, {"service__routes": ""}, {"other": "x = 1"}])
def test_an_edit_of_anything_else_does_not(
    changed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert key(tmp_path / "after", monkeypatch, **changed) == key(tmp_path / "before", monkeypatch)


def test_where_imports_cannot_be_followed_everything_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relative = STEP + "from . import checks"
    before = key(tmp_path / "before", monkeypatch, belief=relative)
    assert key(tmp_path / "after", monkeypatch, belief=relative, cli__main="x = 1") != before


def test_the_packages_own_key_leaves_out_what_is_around_the_kernels() -> None:
    modules = jit.kernel_modules(jit._sources())
    assert {"simulation/kernels/newton", "policies/newton/rules", "simulation/gpu/gpu_newton", "types"} <= set(modules)
    around = [name for name in modules if name.split("/")[0] in ("cli", "service", "live", "client")]
    assert around == []


def test_folders_that_have_long_been_idle_are_removed(tmp_path: Path) -> None:
    now, day = time.time(), 24 * 3600.0
    folders = [tmp_path / f"kernels-{number}" for number in range(7)]
    for number, folder in enumerate(folders):
        (folder / "inside").mkdir(parents=True)
        idle = 0.5 if number < 5 else number
        os.utime(folder, (now - idle * day, now - idle * day))
    (tmp_path / "other").mkdir()
    os.utime(tmp_path / "other", (0.0, 0.0))
    os.utime(folders[0], (0.0, 0.0))
    jit.prune(folders[0])  # ours, however old
    assert [folder.exists() for folder in folders] == [True] * 5 + [False] * 2
    assert (tmp_path / "other").exists()
    jit.prune(tmp_path / "nowhere" / "kernels-1")  # no trouble


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NUMBA_CACHE_DIR": "/kernels", "XDG_CACHE_HOME": "/caches"}, "/kernels"),
        ({"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "/caches"}, "/caches/hushprice"),
        ({"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/somebody"}, "/somebody/.cache/hushprice"),
    ],
)
def test_the_cache_lies_where_the_environment_says(
    variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Path(jit._cache_folder()).parent == Path(expected)


@pytest.mark.parametrize("decorator", [jit.step, jit.inlined])
def test_a_step_gives_what_the_plain_function_gives_and_leaves_numbas_settings_alone(decorator: object) -> None:
    def half(x: float) -> float:
        return x / 2.0

    before = config.CACHE_DIR
    assert callable(decorator)
    assert decorator(half)(3.0) == half(3.0) == 1.5
    assert before == config.CACHE_DIR


@pytest.mark.skipif(not jit.COMPILED, reason="about compiled code")
def test_a_division_by_zero_gives_infinity_instead_of_an_exception() -> None:
    assert jit.step(lambda x: 1.0 / x)(0.0) == float(
        "inf"
    )  # a branch to an exception would keep loops from vector units
