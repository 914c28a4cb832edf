"""Mechanisms that private learners share: continual sums by tree or Toeplitz filter, and exact whole numbers."""
