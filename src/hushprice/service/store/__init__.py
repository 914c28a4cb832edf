"""Where the service keeps everything: one SQLite file, or PostgreSQL for more than one machine."""
