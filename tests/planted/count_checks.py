"""What must hold of noisy counts of rows: people move them as charged, noise has its size, rare texts stay in."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars
from scipy.stats import norm

from hushprice.errors import BudgetExhausted
from hushprice.logs.bounded import bounded
from hushprice.logs.propose import propose
from hushprice.logs.read import open_log
from hushprice.logs.sources import FrameSource
from hushprice.logs.table_counts import Asker, RawCounts, Wanted, counted
from hushprice.noise import Tape
from hushprice.privacy import accountant
from hushprice.privacy.adjacency import Adjacency
from hushprice.privacy.budget import EpsilonDelta
from hushprice.privacy.events import RowCounts
from hushprice.privacy.ledger import Entry, Ledger
from hushprice.privacy.loss import loss_of
from hushprice.privacy.sensitivity import of_counts
from hushprice.product import Product

KEY = bytes(16)
REPLACED = Adjacency.REPLACE_ONE


def _table(own: int, text: str, price: float) -> polars.DataFrame:
    """Forty customers with two rows each, and one with `own` rows, all alike; the others' lie around them."""
    others = polars.DataFrame(
        {
            "price": [float(price) for price in range(20, 100)],
            "bought": [False, True] * 40,
            "region": ["south", "north", "west", "south"] * 20,
            "customer": [f"c{at // 2}" for at in range(80)],
        }
    )
    mine = {"price": [price], "bought": [True], "region": [text], "customer": ["mine"]}
    return polars.concat([others.head(30), polars.concat([polars.DataFrame(mine)] * own), others.slice(30)])


def _vector(raw: RawCounts, texts: list[str]) -> np.ndarray:
    found = [raw.texts["region"][text] for text in texts]
    return np.concatenate([raw.numbers["price"], raw.outcome, found]).astype(float)


def people_move_counts_by_what_is_charged() -> None:
    """Exact: one customer's rows replaced by as many others, as far apart as cells allow."""
    wanted = Wanted(numbers=["price"], texts=["region"], outcome="bought", customer="customer")
    for most in (1, 3):
        worlds = []
        for text, price in (("mars", 1.0), ("venus", 9e9)):
            raw = counted(FrameSource(_table(20, text, price)), wanted, most, KEY)
            worlds.append(_vector(raw, ["south", "north", "west", "mars", "venus"]))
        moved = float(np.linalg.norm(worlds[0] - worlds[1]))
        assert moved <= math.sqrt(3.0) * of_counts(most, REPLACED) + 1e-9
        assert moved >= math.sqrt(2.0) * of_counts(most, REPLACED) - 1e-9  # both questions that the two answer apart


def a_customer_is_bounded_in_a_log() -> None:
    """Exact: the bounded log keeps so many rows of the one who has twenty, whatever they hold."""
    product = Product(floor=20, ceiling=99, reference_price=50, conversion=0.5)
    for price in (21.0, 98.0):
        log = bounded(open_log(_table(20, "mars", price), product=product, key=KEY), most=3)
        found = Counter(
            who for at in range(log.partitions) for rows in log.blocks(at) for who in rows.customers.tolist()
        )
        assert max(found.values()) == 3
        assert sum(found.values()) == 83


def _asker(seed: int, threshold: float | None = None, questions: int = 1) -> Asker:
    cells = RowCounts(rows=1, noise=10.0)
    texts = RowCounts(rows=1, noise=10.0, threshold=threshold)
    allowance = tuple(dict.fromkeys([Entry(cells, questions), Entry(texts, questions)]))
    ledger = Ledger(adjacency=REPLACED, claimed=None, allowance=allowance)
    return Asker(ledger=ledger, cells=cells, texts=texts, source=Tape(seed, 0))


def noisy_counts_have_the_noise_they_are_charged_for() -> None:
    """4,000 counts: their deviation is within 10 % of what the event says. False alarm below 1e-15."""
    noisy = _asker(1).cells(np.full(4000, 7, dtype=np.int64)) - 7.0
    assert abs(float(noisy.std()) / 10.0 - 1.0) < 0.1
    assert abs(float(noisy.mean())) < 1.5


def rare_texts_are_shown_no_more_often_than_charged() -> None:
    """2,000 texts of one person each; each is shown with chance 0.001. More than 12 of them: 1e-6."""
    asker = _asker(2, threshold=1.0 + 10.0 * float(norm.isf(1e-3)))
    shown = asker.texts(Counter({f"text {at}": 1 for at in range(2000)}))
    assert len(shown) <= 12


def every_question_is_paid_before_it_is_answered() -> None:
    """A plan of one question answers one; a proposal's ledger holds as many as its plan."""
    asker = _asker(3)
    asker.cells(np.zeros(3, dtype=np.int64))
    try:
        asker.cells(np.zeros(3, dtype=np.int64))
    except BudgetExhausted:
        pass
    else:
        raise AssertionError("a second question was answered")
    proposal = propose(_table(1, "mars", 30.0), epsilon=5.0, delta=1e-3, noise=Tape(4, 0))
    assert proposal.ledger is not None
    assert proposal.ledger.spent == proposal.ledger.allowance
    assert proposal.ledger.proven is not None
    assert proposal.ledger.proven.epsilon <= 5.0


def two_rows_apart_are_told_apart_no_better_than_proven() -> None:
    """The exact delta of two counts that one replaced row moves, at the epsilon that is proven."""
    event = RowCounts(rows=1, noise=2.0)
    epsilon = accountant.epsilon_of(loss_of(event, 1, REPLACED), 1e-3)
    mu = math.sqrt(2.0) / 2.0  # one count down, one up
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta <= 1e-3


def a_text_of_ones_own_is_charged_for() -> None:
    """A threshold that one person's own text passes one time in a hundred proves nothing at delta 1e-3."""
    event = RowCounts(rows=1, noise=2.0, threshold=1.0 + 2.0 * float(norm.isf(0.01)))
    allowance = (Entry(event, 1),)
    try:
        Ledger(adjacency=REPLACED, claimed=EpsilonDelta(100.0, 1e-3), allowance=allowance)
    except ValueError:
        return
    raise AssertionError("the ledger took a threshold that shows single people")
