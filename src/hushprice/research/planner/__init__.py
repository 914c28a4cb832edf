"""The planner: what a budget is expected to buy, before the first customer."""
