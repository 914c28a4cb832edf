"""Layer 2 of the example: records in, one release out."""
