"""One trial, compiled: the customers, alg:framework, noisy-newton."""
