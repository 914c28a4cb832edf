"""Ban and Keskin, "Personalized dynamic pricing with machine learning", 2021: sparse, with scheduled experiments."""
