"""The process that quotes. It holds releases only."""
