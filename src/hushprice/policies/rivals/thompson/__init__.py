"""Thompson sampling with a Bayesian logistic regression by Laplace's approximation (Chapelle and Li 2011)."""
