"""The numbers the paper prints, as it prints them. Its figures' images are not in the text we work from."""

from __future__ import annotations

from hushprice.research.experiments.experiment import PrintedNumber

SMALL = 1e-4  # tab:non-private and tab:input-perturbation are in units of 1e-4

# tab:non-private: (T, d) -> epsilon = 0.1, 0.2, 0.5, 1.0, 5.0, non-private.
NON_PRIVATE_EPSILONS = (0.1, 0.2, 0.5, 1.0, 5.0)
NON_PRIVATE = {
    (10**5, 2): ("201", "142", "74.6", "41.9", "44.7", "3.1"),
    (10**6, 2): ("46.0", "19.8", "11.5", "5.6", "5.5", "0.6"),
    (10**5, 3): ("156", "130", "92.6", "62.9", "43.4", "3.1"),
    (10**6, 3): ("74.9", "49.4", "23.1", "14.7", "5.7", "1.6"),
}

# tab:diffeps: (d, which epsilon is held at 0.1) -> the other one = 0.02, 0.05, 0.1, 0.2, 0.5; T = 1e5.
DIFFERENT_EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5)
DIFFERENT = {
    (2, 1): ("0.0247", "0.0232", "0.0195", "0.0145", "0.0073"),
    (2, 2): ("0.0192", "0.0178", "0.0196", "0.0192", "0.0191"),
    (3, 1): ("0.0164", "0.0160", "0.0147", "0.0128", "0.0092"),
    (3, 2): ("0.0145", "0.0149", "0.0144", "0.0149", "0.0154"),
}

# tab:input-perturbation, d = 2: T -> epsilon = 0.2, 0.5, 1.0 of the paper's algorithm, then of input perturbation.
INPUT_EPSILONS = (0.2, 0.5, 1.0)
INPUT_ALGORITHM = {
    10**5: ("142", "74.6", "41.9"),
    5 * 10**5: ("42.7", "19.4", "10.4"),
    10**6: ("19.8", "11.5", "5.6"),
}
INPUT_PERTURBATION = {
    10**5: ("393", "393", "98.2"),
    5 * 10**5: ("393", "393", "95.8"),
    10**6: ("393", "393", "95.3"),
}


def printed(text: str, unit: float = SMALL) -> PrintedNumber:
    """One of the numbers above, with its unit.

    >>> printed("74.6").value, printed("74.6").rounding
    (0.00746, 5e-06)
    """
    return PrintedNumber(text=text, unit=unit)
