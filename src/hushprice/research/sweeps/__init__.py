"""Many settings at once: cells, their trials in pieces, a store of finished pieces, and where they run."""
