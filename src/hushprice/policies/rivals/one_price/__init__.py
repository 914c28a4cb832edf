"""Private explore-then-commit, the yardstick: try a few prices, release their noisy sales once, keep the best."""
