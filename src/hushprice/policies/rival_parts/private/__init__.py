"""What reads records for more than one rival. Nothing that prices may reach it."""
