"""What researchers run: the paper's experiments and theory, audits, the planner, and sweeps."""
