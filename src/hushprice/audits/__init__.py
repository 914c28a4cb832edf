"""Attacks on later prices, lower bounds on epsilon, exact checks of the releasers. They find faults; they prove nothing."""
