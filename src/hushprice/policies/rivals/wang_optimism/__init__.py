"""Optimism in generalized linear models: Wang, Wang, Du and Krishnamurthy, 2019, the one-step case."""
