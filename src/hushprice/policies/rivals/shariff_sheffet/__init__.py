"""Shariff and Sheffet, "Differentially private contextual linear bandits", 2018: LinUCB on a private Gram matrix."""
