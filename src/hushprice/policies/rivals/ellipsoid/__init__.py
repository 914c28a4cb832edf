"""Ellipsoid pricing: Cohen, Lobel and Paes Leme, "Feature-based dynamic pricing", 2020. Misspecified here, by noise."""
