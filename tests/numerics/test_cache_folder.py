"""Where compiled code goes when its usual folder cannot be written to: nobody else may be able to put code there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hushprice.numerics import cache_folder
from hushprice.numerics.cache_folder import writable


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def unwritable(folder: Path) -> Path:
    """A path below a file: not even root can make it."""
    (folder / "file").write_text("")
    return folder / "file" / "kernels-1"


def test_the_usual_folder_is_made_and_used(tmp_path: Path, temporary: Path) -> None:
    usual = tmp_path / "cache" / "kernels-1"
    assert writable(usual) == usual
    assert usual.is_dir()
    assert not list(temporary.iterdir())


def test_otherwise_it_is_the_users_own_among_temporary_files(tmp_path: Path, temporary: Path) -> None:
    found = writable(unwritable(tmp_path))
    assert found == writable(tmp_path / "file" / "kernels-1")  # the next process finds it again
    assert (found.parent.parent, found.name) == (temporary, "kernels-1")
    assert stat.S_IMODE(found.parent.stat().st_mode) == 0o700


def test_prepared_code_is_copied_where_it_cannot_be_added_to(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tmp_path / "kernels-1"
    (usual / "numerics").mkdir(parents=True)
    (usual / "numerics" / "step.nbc").write_bytes(b"code")
    (usual / "numerics").chmod(0o555)
    monkeypatch.setattr(cache_folder, "_can_write", lambda folder: False)
    assert (writable(usual) / "numerics" / "step.nbc").read_bytes() == b"code"
    assert writable(usual).parent.parent == temporary
    assert (writable(usual) / "numerics").stat().st_mode & 0o200


@pytest.mark.parametrize("planted", ["open to all", "a link", "a file"])
def test_a_folder_that_another_may_write_to_is_not_trusted(tmp_path: Path, temporary: Path, planted: str) -> None:
    name, elsewhere = temporary / f"hushprice-{os.getuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if planted == "a link":
        name.symlink_to(elsewhere)
    elif planted == "a file":
        name.write_text("")
    else:
        name.mkdir()
        name.chmod(0o777)
    found = writable(unwritable(tmp_path)).parent
    assert found not in (name, elsewhere)
    assert (found.parent, stat.S_IMODE(found.stat().st_mode)) == (temporary, 0o700)


def test_a_user_without_a_home_can_compile(tmp_path: Path, temporary: Path) -> None:
    home = str(unwritable(tmp_path))
    unset = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    program = "from hushprice.numerics import jit; print(jit.FOLDER)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "HOME": home, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, Path(done.stdout.strip()).parent.parent) == (0, temporary), done.stderr
