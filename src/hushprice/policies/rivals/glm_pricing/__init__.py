"""Zhao, Jiang and Yu, "Contextual dynamic pricing: algorithms, optimality and local privacy", arXiv 2406.02424."""
