"""The planner of a shop: what the default policy is expected to earn with a product, before the first customer."""
