"""Policy noisy-newton: Newton steps on noisy batches of weighted scores."""
