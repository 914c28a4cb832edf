"""The world: how demand answers a price, and what that is worth."""
