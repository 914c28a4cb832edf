"""The process that learns. It alone reads records."""
