"""RMLP-2: Javanmard and Nazerzadeh, "Dynamic pricing in high-dimensions", 2019, where price sensitivity is unknown."""
