"""Many trials of a policy on a market, from the same steps the live engine calls."""
