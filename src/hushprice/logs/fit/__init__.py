"""A private fit of a whole log: a description of its rows, then scores, each at what the releases before it say."""
