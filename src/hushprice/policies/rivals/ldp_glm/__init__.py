"""Zheng, Cai, Huang, Li and Wang, "Locally differentially private (contextual) bandits learning", 2020: its GLM."""
