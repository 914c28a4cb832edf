"""A proposed product file: it is read back, holds no exact minimum, and says on every line where it comes from."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars
import pytest

from hushprice.demand.schema import Boolean, Category, Number
from hushprice.errors import InvalidInput
from hushprice.logs import table_counts
from hushprice.logs.proposal_text import cost_of, text_of
from hushprice.logs.propose import Proposal, propose
from hushprice.logs.read import open_log
from hushprice.logs.schema_plan import Declared, noise_for, plan_schema
from hushprice.logs.sources import FrameSource
from hushprice.logs.table_cells import EDGES, QUANTITIES, cells_of, quantity_of, spread_of
from hushprice.noise import System, Tape
from hushprice.privacy.budget import EpsilonDelta
from hushprice.product_file import load_product

ROWS = 20_000


def visits(rows: int = ROWS) -> polars.DataFrame:
    rng = np.random.default_rng(11)
    ages = rng.uniform(18.0, 90.0, rows)
    return polars.DataFrame(
        {
            "price": rng.choice([20.0, 25.0, 25.0, 30.0], rows),
            "bought": rng.random(rows) < 0.1,
            "age": [None if at % 5 == 0 else age for at, age in enumerate(ages.tolist())],
            "region": rng.choice(["south", "south", "north", "west"], rows),
            "member": rng.random(rows) < 0.5,
            "children": rng.integers(0, 6, rows),
            "name": [f"somebody {at}" for at in range(rows)],
            "seen": polars.datetime_range(
                polars.datetime(2026, 1, 1), polars.datetime(2026, 1, 1, 5, 33, 19), "1s", eager=True
            ).head(rows),
        }
    )


FRAME = visits()


@pytest.fixture(scope="module")
def proposal() -> Proposal:
    return propose(FRAME, epsilon=1.0, delta=1e-6, noise=Tape(5, 0))


def test_the_proposal_finds_what_the_table_was_made_of(proposal: Proposal) -> None:
    by_name = {each.name: each for each, _ in proposal.attributes}
    age, children = by_name["age"], by_name["children"]
    assert isinstance(age, Number)
    assert 17.0 <= age.low <= 19.5
    assert 86.0 <= age.high <= 92.0
    assert age.flag_missing
    assert isinstance(children, Number)
    assert (children.low, children.high, children.flag_missing) == (0.0, 5.0, False)
    assert by_name["region"] == Category(name="region", levels=("south", *by_name["region"].levels[1:3], "other"))  # type: ignore[union-attr]
    assert set(by_name["region"].levels) == {"south", "north", "west", "other"}  # type: ignore[union-attr]
    assert by_name["member"] == Boolean(name="member")
    assert proposal.product["reference_price"].value == pytest.approx(25.0, rel=0.04)
    assert proposal.product["floor"].value <= 20.0
    assert proposal.product["ceiling"].value >= 30.0
    assert proposal.product["conversion"].value == pytest.approx(0.1, abs=0.01)
    assert proposal.product["most"].value == 1.0
    assert "no text is frequent enough" in proposal.left_out["name"]
    assert proposal.left_out["seen"].startswith("exact: its type is Datetime")


def test_it_is_a_product_file_that_opens_the_same_log(proposal: Proposal, tmp_path: Path) -> None:
    file = tmp_path / "product.toml"
    file.write_text(text_of(proposal))
    product = load_product(file)
    assert product.contexts == 7  # age and its gaps, three levels, member, children; and nobody's name
    log = open_log(FRAME, product=file)
    assert sum(len(rows.prices) for rows in log.blocks(0)) == ROWS
    text = file.read_text()
    assert "somebody" not in text
    for line in text.splitlines():
        if "=" in line and not line.startswith(("#", "[")):
            assert line.partition("  # ")[2].startswith(("exact", "charged", "declared")), line
    assert max(map(len, text.splitlines())) <= 120


def test_the_whole_plan_is_paid_and_said(proposal: Proposal) -> None:
    assert proposal.ledger is not None
    assert proposal.ledger.proven is not None
    assert 0.95 < proposal.ledger.proven.epsilon <= 1.0
    assert proposal.ledger.spent == proposal.ledger.allowance
    assert [entry.count for entry in proposal.ledger.spent] == [4, 2]  # price, outcome, two numbers; two texts
    assert "epsilon 1 at delta 1e-06 for one row replaced by any other" in cost_of(proposal)
    assert cost_of(proposal) in text_of(proposal)


def test_what_is_declared_is_not_asked_about() -> None:
    declared = Declared(
        bounds={"age": (18.0, 98.0), "children": (0.0, 9.0)},
        levels={"region": ("south", "north")},
        leave_out=["name"],
        prices=(18.0, 25.0, 32.0),
        conversion=0.1,
        most=1.0,
    )
    found = propose(FRAME, declared=declared)  # live noise: none is drawn
    assert found.ledger is None
    assert "nothing was asked of any row" in text_of(found)
    assert [each.name for each, why in found.attributes if why == "declared"] == ["age", "region", "children"]
    assert found.left_out["name"] == "declared: left out"


def test_a_csv_files_types_are_asked_about_too(tmp_path: Path) -> None:
    FRAME.drop("name", "seen").with_columns(member=polars.col("member").cast(polars.String)).write_csv(
        tmp_path / "v.csv"
    )
    found = propose(tmp_path / "v.csv", epsilon=1.0, delta=1e-6, noise=Tape(6, 0))
    kinds = {each.name: type(each) for each, _ in found.attributes}
    assert kinds == {"age": Number, "region": Category, "member": Boolean, "children": Number}
    assert found.plan.text_questions == 4
    assert all(why.startswith("charged") for _, why in found.attributes)


def test_customers_are_protected_whole_and_a_hidden_answer_is_said() -> None:
    frame = FRAME.head(2000).with_columns(customer=polars.int_range(2000) // 4)
    found = propose(frame, epsilon=0.1, most_rows=2, noise=Tape(7, 0))
    assert "one customer's rows, at most 2 counted, replaced by any other" in cost_of(found)
    assert found.product["floor"].value is None
    assert "# floor =  # charged: noise hides where prices are: declare --prices" in text_of(found)
    assert found.product["conversion"].value is None
    assert "declare --bounds age=LOW:HIGH" in found.left_out["age"]
    assert found.ledger is not None
    assert found.ledger.spent[0].event.rows == 2  # type: ignore[union-attr]


def test_live_noise_differs_from_run_to_run_and_is_on_its_grid() -> None:
    frame = FRAME.select("price", "bought").head(200)
    declared = Declared(prices=(18.0, 25.0, 32.0))
    found = [propose(frame, declared=declared, epsilon=3.0, noise=System()) for _ in range(2)]
    values = [each.product["conversion"].value for each in found]
    assert values[0] != values[1]


def test_a_sample_of_rows_or_customers_is_chosen_by_no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_counts, "SAMPLE", 4000)
    assert propose(FRAME.select("price", "bought"), epsilon=5.0, noise=Tape(8, 0)).sampled == 5
    wanted = table_counts.Wanted(numbers=["price"], texts=[], outcome=None, customer=None)
    raw = table_counts.counted(FrameSource(FRAME), wanted, 1, bytes(16))
    assert raw.numbers["price"].sum() == 4000
    assert repr(raw) == "RawCounts(<sensitive>)"
    customers = FRAME.with_columns(customer=polars.int_range(ROWS) // 2)
    wanted = table_counts.Wanted(numbers=["price"], texts=[], outcome=None, customer="customer")
    raw = table_counts.counted(FrameSource(customers), wanted, 1, bytes(16))
    assert abs(int(raw.numbers["price"].sum()) - 2000) < 250  # a fifth of 10,000 customers, deviation 40


def test_every_number_is_in_one_cell_and_spread_is_its_quantiles() -> None:
    frame = polars.DataFrame({"v": [*EDGES.tolist(), 0.0, -1e300, 1e300, math.nan, None, math.inf]})
    cells = cells_of("v", polars.Float64(), frame, EDGES)
    assert cells.sum() == frame.height
    assert cells[-2:].tolist() == [2, 1]
    values = np.random.default_rng(2).lognormal(3.0, 1.0, 100_000)
    counts = cells_of("v", polars.Float64(), polars.DataFrame({"v": values}), EDGES).astype(float)
    spread = spread_of(counts, 1e-9, 100_000)
    assert spread is not None
    low, middle, high = np.quantile(values, [0.01, 0.5, 0.99])
    assert spread.low <= low <= spread.low * 1.07
    assert spread.high / 1.07 <= high <= spread.high
    assert spread.middle == pytest.approx(middle, rel=0.07)
    mirrored = spread_of(np.concatenate([counts[-3::-1], counts[-2:]]), 1e-9, None)
    assert mirrored is not None
    assert (mirrored.low, mirrored.high) == (-spread.high, -spread.low)
    assert spread_of(np.zeros_like(counts), 1.0, 100.0) is None


def test_quantities_have_a_most_and_a_mean() -> None:
    frame = polars.DataFrame({"q": [0] * 500 + [1] * 300 + [3] * 200})
    noisy = cells_of("q", polars.Int64(), frame, QUANTITIES, truths=True).astype(float)
    assert quantity_of(noisy, 1e-9) == (3.0, pytest.approx(0.9), pytest.approx(0.0, abs=1e-9))
    assert quantity_of(np.zeros_like(noisy), 1.0) is None


def test_noise_is_not_taken_for_numbers_and_few_purchases_not_for_none() -> None:
    """3,000 rows at a deviation of 225: in a column of texts nothing is seen; false alarm 1e-4 over all draws."""
    random, noise = np.random.default_rng(3), 225.0
    texts = np.zeros(EDGES.size + 3)
    texts[-1] = 3000.0
    assert all(spread_of(texts + random.normal(0.0, noise, texts.size), noise, 3000.0) is None for _ in range(200))
    sold = np.zeros(QUANTITIES.size + 3)
    sold[1:3] = (2100.0, 900.0)
    found = [quantity_of(sold + random.normal(0.0, noise, sold.size), noise) for _ in range(400)]
    means = [each.mean for each in found if each is not None and each.mean is not None]
    assert len(means) > 350  # in the others noise is as large as what is bought
    assert np.mean(means) == pytest.approx(0.3, abs=0.02)
    assert min(means) > 0.1
    sold[1:3] = (3000.0, 0.0)
    hidden = [quantity_of(sold + random.normal(0.0, noise, sold.size), noise) for _ in range(100)]
    assert sum(each is not None and each.mean is None for each in hidden) > 85


def test_a_role_that_cannot_be_guessed_is_asked_for() -> None:
    with pytest.raises(InvalidInput, match="say which column is the outcome: --outcome is missing"):
        propose(FRAME.drop("bought"))
    with pytest.raises(InvalidInput, match="the log has no column 'cost' for its price"):
        propose(FRAME, declared=Declared(roles={"price": "cost"}))
    with pytest.raises(InvalidInput, match="the log has no column 'weight'"):
        propose(FRAME, declared=Declared(bounds={"weight": (0.0, 1.0)}))
    plan = plan_schema(FrameSource(FRAME.rename({"name": "customer"})), Declared(roles={"customer": ""}))
    assert plan.roles["customer"] is None


def test_a_budget_too_small_for_any_noise_is_refused() -> None:
    plan = plan_schema(FrameSource(FRAME), Declared())
    for epsilon, delta in ((0.0, 1e-9), (math.nan, 1e-9), (0.1, 0.0)):
        with pytest.raises(InvalidInput, match=r"epsilon|delta"):
            noise_for(plan, most=1, claimed=EpsilonDelta(epsilon, delta), live=True)
    with pytest.raises(InvalidInput, match="most_rows"):
        noise_for(plan, most=0, claimed=EpsilonDelta(0.1, 1e-9), live=True)
