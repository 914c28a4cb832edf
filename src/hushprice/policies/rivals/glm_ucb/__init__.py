"""GLM-UCB: Filippi, Cappe, Garivier and Szepesvari, "Parametric bandits: the generalized linear case", 2010."""
