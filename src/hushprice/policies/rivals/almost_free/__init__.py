"""In the manner of Chen, Li, Rakhlin and Simchi-Levi 2025, arXiv 2502.13115: re-weighted regression."""
