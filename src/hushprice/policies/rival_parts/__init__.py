"""What rivals share: the frame they price in, the shape of one, fits, and the search over a price grid."""
