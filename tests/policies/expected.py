"""What every policy of markets claims and does, as tests expect it: a row a policy, which a new one adds."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Expected(NamedTuple):
    """Of one policy."""

    claims: Literal["pair", "pure", "zero", "nothing"]  # (epsilon, delta), epsilon alone, 0 as it reads no record, none
    reads_budget: bool = False
    learns: bool = False
    knows_the_end: bool = False  # the horizon sets its noise, its width or how long it explores
    drowned: bool = False  # its noise keeps everybody at the highest price in short runs


EXPECTED = {
    "paper": Expected("pair", reads_budget=True, learns=True),
    "noisy-newton": Expected("pair", reads_budget=True, learns=True),
    "nonprivate": Expected("nothing", learns=True),
    "random": Expected("zero"),
    "fixed": Expected("zero"),
    "input-perturbation": Expected("nothing", reads_budget=True),
    "clairvoyant": Expected("nothing"),
    "shariff-sheffet": Expected("pair", reads_budget=True, knows_the_end=True, drowned=True),
    "shariff-sheffet-revenue": Expected("pair", reads_budget=True, knows_the_end=True, drowned=True),
    "shuffle-glm": Expected("pair", reads_budget=True, drowned=True),
    "ldp-glm": Expected("pair", reads_budget=True, drowned=True),
    "offline-private": Expected("pair", reads_budget=True, knows_the_end=True),
    "almost-free": Expected("pair", reads_budget=True),
    "one-price": Expected("pure", reads_budget=True, knows_the_end=True),
    "mishra-ucb": Expected("pure", reads_budget=True, knows_the_end=True),
    "mishra-thompson": Expected("pure", reads_budget=True, knows_the_end=True),
    "ldp-mab": Expected("pure", reads_budget=True),
    "ldp-sgd": Expected("pure", reads_budget=True),
    "glm-pricing": Expected("pure", reads_budget=True, knows_the_end=True),
    "thompson": Expected("nothing"),
    "ucb-glm": Expected("nothing", knows_the_end=True),
    "glm-ucb": Expected("nothing"),
    "wang-optimism": Expected("nothing"),
    "greedy-ils": Expected("nothing"),
    "greedy-ils-dispersed": Expected("nothing"),
    "mle-cycle": Expected("nothing"),
    "rmlp": Expected("nothing"),
    "ellipsoid": Expected("nothing", knows_the_end=True),
    "glm-pricing-open": Expected("nothing", knows_the_end=True),
    "glm-pricing-mixed": Expected("nothing", reads_budget=True, knows_the_end=True),
    "tang": Expected("nothing", reads_budget=True, knows_the_end=True),
    "ban-keskin": Expected("nothing"),
    "private-bisection": Expected("nothing", knows_the_end=True),
}
