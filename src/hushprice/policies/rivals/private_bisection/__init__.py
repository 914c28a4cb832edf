"""Tsitsiklis, Xu and Xu, "Private sequential learning", 2018: replicated bisection hides the price that is learned."""
