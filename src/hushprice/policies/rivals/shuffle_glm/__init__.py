"""Sarmasarkar, "Private generalized linear contextual bandits", 2026, arXiv 2602.00417: its joint-private algorithm."""
