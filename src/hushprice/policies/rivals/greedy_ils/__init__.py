"""Greedy iterated least squares (Qiang and Bayati 2016), alone and with the dispersion of Keskin and Zeevi 2014."""
