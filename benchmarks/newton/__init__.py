"""What noisy-newton does, measured section by section; benchmarks/noisy_newton.py runs them."""
