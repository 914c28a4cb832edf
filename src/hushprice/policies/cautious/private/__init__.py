"""The side that reads records, adds noise and releases."""
