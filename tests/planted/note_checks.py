"""What must hold of the note of seen releases. Each check raises AssertionError otherwise."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.service.store.test_notes import settings_of, sold

from hushprice.errors import InvalidInput
from hushprice.service.shared import setup
from hushprice.service.shared.config import ServiceSettings


def lost_notes_are_noticed() -> None:
    """A store that has given quotes is not learned from without its note, nor with one that a quoter began."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_of(str(Path(folder, "shop.db")), Path(folder))
        sold(settings.store.reveal())
        assert _is_refused(settings)
        setup.quoters_seen_file(settings)
        assert _is_refused(settings)


def copies_are_noticed() -> None:
    """A copy of a store, on the machine with the first one's note, would release its records a second time."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [settings_of(str(Path(folder, name)), Path(folder)) for name in ("shop.db", "drill.db")]
        first, drill = (each.store.reveal() for each in settings)
        setup.prepare_learning(settings[0])
        sold(first)
        shutil.copy(first, drill)
        assert _is_refused(settings[1])
        assert not _is_refused(settings[0])


def _is_refused(settings: ServiceSettings) -> bool:
    try:
        setup.prepare_learning(settings)
    except InvalidInput:
        return True
    return False
