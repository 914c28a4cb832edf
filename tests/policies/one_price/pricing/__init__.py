"""Layer 3 of the example: releases in, a price out."""
