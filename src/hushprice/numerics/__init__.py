"""Arithmetic shared by every layer: compiled steps, the random tape, small linear algebra."""
