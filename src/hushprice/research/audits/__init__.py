"""Attacks on later prices, lower bounds on epsilon, looks inside the releasers. They find faults and prove nothing."""
