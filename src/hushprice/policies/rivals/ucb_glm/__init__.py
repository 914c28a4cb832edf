"""UCB-GLM: Li, Lu and Zhou, "Provably optimal algorithms for generalized linear contextual bandits", 2017."""
