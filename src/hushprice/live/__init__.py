"""One live product: the quoter holds releases only, the learner reads records, the pricer joins them in one process."""
