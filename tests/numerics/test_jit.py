"""Where compiled code is kept: a folder that changes with the source of the whole package."""

from __future__ import annotations

from pathlib import Path

import pytest
from numba.core import config

from hushprice.numerics import jit


def package(folder: Path, **sources: str) -> str:
    """The path of numerics/jit.py in a small package with these modules."""
    (folder / "numerics").mkdir(parents=True)
    for name, text in {"numerics/jit": "", **sources}.items():
        (folder / f"{name}.py").write_text(text)
    return str(folder / "numerics" / "jit.py")


def test_an_edit_anywhere_in_the_package_moves_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = []
    for number, text in enumerate(("x = 1", "x = 1", "x = 2")):
        monkeypatch.setattr(jit, "__file__", package(tmp_path / str(number), other=text))
        folders.append(jit._cache_folder())
    assert folders[0] == folders[1] != folders[2]


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
