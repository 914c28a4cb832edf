"""What a shop already has: its log of visits, read in blocks, fitted privately, checked, and asked what it is worth."""
