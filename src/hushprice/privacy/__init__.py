"""What privacy costs: adjacency, events, the ledger, and how much noise a budget buys."""
