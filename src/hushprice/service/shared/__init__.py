"""What both processes need: configuration, keys, products, prices in currency."""
