"""The theory against numbers: one file a check, each citing the LaTeX label it is about."""
