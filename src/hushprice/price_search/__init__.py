"""Layer 3: from releases and the arriving customer to a price. Never from a record."""
