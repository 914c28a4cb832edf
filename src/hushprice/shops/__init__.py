"""Simulated shops: any world in a few lines of NumPy, a product, and a strategy that prices it."""
