-- Version 4.

-- How likely the price of a quote was, given the customer and the releases before; NULL: not known.
ALTER TABLE quote ADD COLUMN propensity REAL;
