"""The example of an image in docs/guide/operations.md names settings, verbs and an extra that there are."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from hushprice.cli import app
from hushprice.service.shared import config

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guide" / "operations.md").read_text()
(IMAGE,) = re.findall(r"^<!-- container -->\n```dockerfile\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_the_settings_of_the_image_are_taken() -> None:
    given = dict(re.findall(r"(HUSHPRICE_\w+)=(\S+)", IMAGE))
    settings = config.read(None, given, {})
    assert (settings.log_format, str(settings.own_dir), settings.operator_host) == ("json", "/state", "127.0.0.1")
    folders = next(line for line in IMAGE.splitlines() if line.startswith("VOLUME")).split()[1:]
    kept = {settings.store.reveal().rpartition("/")[0], str(settings.own_dir)}
    assert kept == set(folders)  # one backup must not set both back


def test_the_verbs_and_the_extra_of_the_image_are_there() -> None:
    verbs = {command.name or command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]
    assert set(re.findall(r"RUN hushprice (\w+)", IMAGE)) | {"serve"} <= verbs
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(re.findall(r"/src\[(\w+)\]", IMAGE)) <= set(project["optional-dependencies"])
    assert re.findall(r"FROM python:(\S+)-slim", IMAGE) == [project["requires-python"].lstrip(">=")]
