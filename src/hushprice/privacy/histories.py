"""What is listed where a store was put back to an older state, and what of it a promise has to count."""

from __future__ import annotations

# After these a record may be in releases of one more history of the store.
OVERLAPS = ("overlapping histories", "lost notes")
# After these a customer may have as many records again.
RESTORES = ("restored backup", *OVERLAPS)
