"""Layer 1: customer records. Nothing that prices may import from here."""
