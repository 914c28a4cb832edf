"""Attacks on later prices, and lower bounds on epsilon from runs alone. They find faults; they prove nothing."""
