"""What noisy-newton reads records with: batches, their exact sums, and noise."""
