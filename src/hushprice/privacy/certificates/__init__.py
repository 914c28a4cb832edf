"""Signed statements of a guarantee, complete enough to be recomputed from the file alone."""
