"""Many settings at once: cells, their trials in ranges, a store of finished ones, and where they run."""
