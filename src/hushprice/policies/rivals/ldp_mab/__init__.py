"""Ren, Zhou, Liu and Shroff, "Multi-armed bandits with local differential privacy", 2020, on a price grid."""
