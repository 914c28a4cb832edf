"""An example of a policy in one folder: try a few prices in turn, release noisy sales once, keep the best price."""
