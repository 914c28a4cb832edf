"""Policy cautious: for a product of a shop. Prices leave today's only on evidence."""
