"""One-pass stochastic gradients under pure local privacy: Han, Liang, Wang and Zhang, 2021."""
