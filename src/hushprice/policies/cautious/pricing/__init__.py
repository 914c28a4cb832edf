"""The side that prices: releases in, prices out."""
