"""Bugs in the note of seen releases: a lost one that nobody notices, and copies that pass for the store."""

from __future__ import annotations

from tests.planted.planting import changed

from hushprice.service.shared import setup
from hushprice.service.shared.seen_releases import SeenReleasesFile

lost_note_taken_for_none_yet = changed(setup, "is_new", lambda real: lambda store: True)
quoters_note_taken_for_a_learners = changed(
    SeenReleasesFile, "begin", lambda real: lambda self, *, whole: real(self, whole=True)
)
copy_taken_for_the_store = changed(SeenReleasesFile, "_take_over", lambda real: lambda *given: None)
