"""Policies: schedules and parameters only. What they do is in releasers/ and optimizer/."""
