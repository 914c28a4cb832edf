"""Tang, Ho and Liu, "Differentially private contextual dynamic pricing", 2020: follow the approximate leader."""
