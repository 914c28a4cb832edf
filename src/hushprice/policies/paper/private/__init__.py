"""What alg:framework reads records with: PrivateCov and PrivateMLE."""
