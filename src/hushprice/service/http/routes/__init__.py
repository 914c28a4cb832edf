"""The calls, one file a noun. Each translates: reads a message, asks one thing, writes a message."""
