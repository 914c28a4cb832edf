"""The quantities of report.py: what each is called, its formula, where that comes from, and how it is read off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hushprice.policies.paper.report.worked import Case, advanced, basic
from hushprice.privacy import accountant, sensitivity
from hushprice.privacy.streams import Tree

Value = float | int | str | None

_SOURCES = {
    "algo": "cor:privacy-algo",
    "cov": "alg:private-cov, line 2",
    "mle": "alg:private-mle, line 2",
    "framework": "alg:framework, line 3",
    "numerical": "sec:numerical",
    "fact": "fact:composition",
    "defn": "defn:na-eps-delta-privacy",
    "sensitivity": "docs/proofs/sensitivity.md",
    "stream": "docs/proofs/continual_release.md",
    "estimate": "docs/proofs/objective_perturbation.md",
    "grid": "docs/proofs/discrete_noise.md",
    "together": "docs/proofs/composition.md",
}

# symbol | name | formula | source
_WORDS = """
[budget]
eps1 | epsilon for covariances | half of epsilon, or as given | algo
delta1 | delta for covariances | delta / 2 | algo
eps2 | epsilon for estimates | half of epsilon, or as given | algo
delta2 | delta for estimates | delta / 2 | algo
[covariances]
strategy | arrangement of the noise | a binary tree; tight: a Toeplitz filter | stream
m | levels of the tree | ceil(log2 T) | cov
delta1' | delta a node | delta1 / 2m | cov
eps1' | epsilon a node | eps1 / (2 m ln(1/delta1')); published: eps1 / (2 sqrt(2 m ln(1/delta1'))) | cov
sigma | noise of a node or row | S sqrt(2 ln(1.25/delta1')) / eps1'; tight: the least that proves the claim | cov
S | change assumed | 1; tight: S_true | cov
S_true | true change of phi phi' | sqrt(2) replaced, 1 zeroed out | sensitivity
column | longest column of the strategy | tree: sqrt(m); filter: length of its response over T - 1 steps | stream
row | longest row of its inverse | tree: sqrt(most ones in a binary n < T); filter: length of the inverse | stream
deviation | largest deviation of an entry | sigma row | stream
grid1 | grid of the noise | the power of two that is 2^-32 of sigma, or next below | grid
mu1 | mu of the whole stream | (S_true column + rounding) / sigma | stream
[estimates]
D_inf | most estimates | ceil(d log2 T), or as given | numerical
delta2' | delta an estimate | delta2 / 2 D_inf | framework
eps2' | epsilon an estimate | eps2 / (2 sqrt(2 D_inf ln(1/delta2'))); published: without the first 2 | framework
B1 | gradient assumed | (B_Y + 1) G; published: G = 1 | mle
gradient | true largest gradient | zeta max(f(2) - lowest, B_Y - f(-2)) | sensitivity
difference | true largest difference | 2 gradient; less for logistic demand in [0, 1], by a search | sensitivity
B2 | curvature assumed | K G; published: G = 1 | mle
curvature | true largest curvature | zeta sup f' on abs(z) <= 2 | sensitivity
nu | noise of the objective | B1 sqrt(8 ln(2/delta2') + 4 eps2') / eps2'; tight: the least that proves the claim | mle
rho | ridge | max(ridge asked, 2 B2 / eps2'); tight: the one with the least d nu^2 + rho^2 | mle
distance | from the exact minimizer | sqrt(2 gap / rho) + rounding / rho | estimate
output | noise that hides it | 2 distance sqrt(D_inf) / (0.05 mu(eps2, delta2)) | estimate
grid2 | grid of the objective's noise | the power of two that is 2^-32 of nu, or next below | grid
grid3 | grid of the output noise | the power of two that is 2^-32 of output, or next below | grid
[together]
claimed | claimed epsilon | eps1 + eps2 | algo
delta | at delta | delta1 + delta2 | algo
proven | proven epsilon | everything jointly, for the noise drawn and the true constants | together
share | proven / claimed | proven / claimed | together
renyi | by Renyi divergences alone | least over a > 1 of D_a + ln(1 - 1/a) - ln(a delta)/(a - 1), grids aside | together
node | one node or filter, alone | a Gaussian of mu1 / sqrt(m) at delta1 / 2m; filter: m = 1 | stream
call | one estimate, alone | the accountant's answer at delta2 / 2 D_inf | estimate
basic | both by basic composition | m node + D_inf call, at half of delta | fact
advanced | both by advanced composition | sqrt(2 k ln(2/delta_i)) e + k e (exp(e) - 1), k times node, then call | fact
[odds]
factor | likelier at most by | exp(proven) | defn
right | a guess is right at most | (exp(proven) + delta) / (1 + exp(proven)) | defn
"""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One row before it is worked out."""

    group: str
    name: str
    symbol: str
    formula: str
    source: str
    of: Callable[[Case], Value]


def _tree(value: Callable[[Case], Value]) -> Callable[[Case], Value]:
    """The value for calibrations that release a tree, node by node; None for others."""
    return lambda case: value(case) if isinstance(case.stream.strategy, Tree) else None


def _paper(value: Callable[[Case], Value]) -> Callable[[Case], Value]:
    """The value for the paper's calibrations, which go by shares and assumed constants; None for others."""
    return lambda case: value(case) if case.from_paper else None


def odds_factor(epsilon: float) -> float:
    """e^epsilon; infinity where no float holds it."""
    return math.exp(epsilon) if epsilon < 700.0 else math.inf


def guessed_right(epsilon: float, delta: float) -> float:
    """How often the best guess which of two equally likely records it was is right.

    That is (e^epsilon + delta) / (1 + e^epsilon).

    A guess errs in one world or the other; each error is bounded in terms of the other, and the best guess has the two
    equal. Written so that no power overflows.

    >>> guessed_right(0.0, 0.0), round(guessed_right(1.0, 0.0), 3)
    (0.5, 0.731)
    """
    wrong = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    return 1.0 - (1.0 - delta) * wrong


def _renyi(case: Case) -> float:
    return case.epsilon(lambda loss, delta: accountant.renyi_epsilon(loss, delta)[0])


_READ: dict[str, Callable[[Case], Value]] = {
    "eps1": lambda case: case.budget.covariance.epsilon,
    "delta1": lambda case: case.budget.covariance.delta,
    "eps2": lambda case: case.budget.estimates.epsilon,
    "delta2": lambda case: case.budget.estimates.delta,
    "strategy": lambda case: case.noise.strategy,
    "m": _tree(lambda case: case.nodes),
    "delta1'": _tree(lambda case: case.node.delta),
    "eps1'": _tree(lambda case: case.node.epsilon),
    "sigma": lambda case: case.noise.covariance_noise,
    "S": lambda case: 1.0 if case.from_paper else sensitivity.of_covariance(case.adjacency),
    "S_true": lambda case: sensitivity.of_covariance(case.adjacency),
    "column": lambda case: case.stream.strategy.column_norm(case.stream.steps),
    "row": lambda case: case.stream.strategy.row_norm(case.stream.steps),
    "deviation": lambda case: case.deviation,
    "grid1": lambda case: case.stream.grid,
    "mu1": lambda case: case.mu,
    "D_inf": lambda case: case.calls,
    "delta2'": _paper(lambda case: case.call.delta),
    "eps2'": _paper(lambda case: case.call.epsilon),
    "B1": _paper(lambda case: (case.assumed.bound + 1) * case.assumed.scale),
    "gradient": lambda case: case.losses.gradient,
    "difference": lambda case: case.losses.difference,
    "B2": _paper(lambda case: case.assumed.curvature * case.assumed.scale),
    "curvature": lambda case: case.losses.curvature,
    "nu": lambda case: case.noise.estimate_noise,
    "rho": lambda case: case.noise.estimate_ridge,
    "distance": lambda case: case.estimate.distance,
    "output": lambda case: case.noise.output_noise,
    "grid2": lambda case: case.estimate.grid,
    "grid3": lambda case: case.estimate.output_grid,
    "claimed": lambda case: case.budget.total.epsilon,
    "delta": lambda case: case.budget.total.delta,
    "proven": lambda case: case.proven,
    "share": lambda case: case.proven / case.budget.total.epsilon,
    "renyi": _renyi,
    "node": lambda case: case.alone[0],
    "call": lambda case: case.alone[1],
    "basic": lambda case: case.textbook(lambda each, count, _: basic(each, count)),
    "advanced": lambda case: case.textbook(advanced),
    "factor": lambda case: odds_factor(case.proven),
    "right": lambda case: guessed_right(case.proven, case.budget.total.delta),
}


def _quantities() -> Iterator[Quantity]:
    group = ""
    for line in _WORDS.strip().splitlines():
        if line.startswith("["):
            group = line.strip("[]")
        else:
            symbol, name, formula, source = line.split(" | ")
            yield Quantity(group, name, symbol, formula, _SOURCES[source], _READ[symbol])


QUANTITIES = tuple(_quantities())
