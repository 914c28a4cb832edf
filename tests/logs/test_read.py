"""A log gives the same numbers in whatever form it comes: those of the product's own code, a row at a time."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import psycopg
import pyarrow
import pytest
from tests.logs.tables import KEY, PRODUCT, joined, row_by_row, same_rows, visits, write_sqlite
from tests.service.conftest import postgres_process, postgres_server  # noqa: F401

from hushprice.demand.attributes import OTHER_LEVEL
from hushprice.demand.schema import Category, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.logs import encoding, read, sources
from hushprice.logs.columns import Columns
from hushprice.logs.digest import digests
from hushprice.logs.read import open_log
from hushprice.product import Product

FRAME = visits(300)
LAST_DIGIT = 5e-16  # Polars multiplies by 1/x where it is asked to divide by x


def forms(folder: Path) -> dict[str, Any]:
    FRAME.write_csv(folder / "visits.csv")
    FRAME.write_parquet(folder / "visits.parquet")
    parts = folder / "parts" / "day=1"
    parts.mkdir(parents=True)
    FRAME.head(100).write_parquet(parts / "a.parquet")
    FRAME.slice(100).write_parquet(parts / "b.parquet")
    many = folder / "many"
    many.mkdir()
    FRAME.head(7).write_csv(many / "1.csv")
    FRAME.slice(7).write_csv(many / "2.csv")
    return {
        "polars": FRAME,
        "lazy": FRAME.lazy(),
        "pandas": FRAME.to_pandas(),
        "arrow": FRAME.to_arrow(),
        "csv": folder / "visits.csv",
        "parquet": str(folder / "visits.parquet"),
        "folder": folder / "parts",
        "csv folder": many,
        "sqlite": write_sqlite(FRAME, folder / "visits.db"),
    }


def test_every_form_gives_the_rows_of_the_products_own_code(tmp_path: Path) -> None:
    contexts, prices, demands = row_by_row(FRAME, PRODUCT)
    for form, table in forms(tmp_path).items():
        rows = joined(open_log(table, product=PRODUCT, key=KEY))
        assert np.allclose(rows.contexts, contexts, rtol=0.0, atol=LAST_DIGIT), form
        assert np.allclose(rows.prices, prices, rtol=0.0, atol=LAST_DIGIT), form
        assert max(np.abs(rows.contexts).max(), np.abs(rows.prices).max()) == 1.0, form
        assert np.array_equal(rows.demands, demands), form
        assert rows.customers is not None
        assert np.array_equal(rows.customers, digests(FRAME["customer"], KEY)), form
        assert rows.propensities is not None
        assert np.array_equal(rows.propensities, FRAME["propensity"].to_numpy()), form


def test_a_postgresql_table_is_read_like_the_frame_it_was_made_of(postgres_server: str) -> None:  # noqa: F811
    with psycopg.connect(postgres_server, autocommit=True) as database:
        database.execute("DROP TABLE IF EXISTS visits")
        database.execute(
            "CREATE TABLE visits (price numeric, bought boolean, age double precision, region text, member boolean, "
            "customer text, propensity real8)".replace("real8", "double precision")
        )
        with database.cursor() as cursor:
            cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s, %s)", FRAME.rows())
    joint = "&" if "?" in postgres_server else "?"
    log = open_log(f"{postgres_server}{joint}table=visits", product=PRODUCT, key=KEY)
    assert same_rows(log, open_log(FRAME, product=PRODUCT, key=KEY))
    assert log.rows == FRAME.height
    ordered = open_log(f"{postgres_server}{joint}table=public.visits&order=price", product=PRODUCT)
    assert (np.diff(joined(ordered).prices) >= 0.0).all()
    with pytest.raises(InvalidInput, match="log table 'nobody' cannot be read: relation"):
        open_log(f"{postgres_server}{joint}table=nobody", product=PRODUCT)


def test_small_pieces_change_nothing_and_row_numbers_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = open_log(FRAME, product=PRODUCT, key=KEY)
    expected = joined(whole)
    monkeypatch.setattr(sources, "CHUNK", 40)
    monkeypatch.setattr(sources, "PART", 100)
    monkeypatch.setattr(encoding, "BLOCK", 16)
    for form, table in forms(tmp_path).items():
        log = open_log(table, product=PRODUCT, key=KEY)
        blocks = [block for partition in range(log.partitions) for block in log.blocks(partition)]
        ends = np.cumsum([len(block.prices) for block in blocks])
        assert [block.first for block in blocks] == [0, *ends[:-1]], form
        assert np.array_equal(joined(log).contexts, expected.contexts), form
        assert log.rows == 300, form
        if form in ("polars", "parquet"):
            assert log.partitions == 3


def test_what_is_clipped_is_counted_for_the_operator_alone() -> None:
    log = open_log(FRAME, product=PRODUCT)
    joined(log)
    outside = ((FRAME["age"] < 18) | (FRAME["age"] > 98)).sum()
    assert log.counts.clipped["age"] == outside > 0
    assert log.counts.clipped["price"] == (FRAME["price"] < 18).sum() + (FRAME["price"] > 32).sum() > 0
    assert log.counts.rows == 300
    assert not log.counts.skipped
    assert all(line.startswith("exact, for the operator alone: ") for line in log.counts.lines())
    joined(log)
    assert log.counts.rows == 300  # a second pass counts nothing twice


def test_prices_at_floor_and_ceiling_are_not_called_clipped() -> None:
    product = Product(floor=19.99, ceiling=29.99, reference_price=24.99, conversion=0.1)
    log = open_log(polars.DataFrame({"price": [19.99, 29.99], "bought": [0, 1]}), product=product)
    rows = joined(log)
    assert log.counts.clipped["price"] == 0
    assert np.abs(rows.prices).max() <= 1.0


BAD = {
    "price": ("price", "a finite number", [float("nan"), None, float("inf")]),
    "outcome": ("bought", "true or false, 1 or 0", [None, 0.5, -1.0, float("nan")]),
    "propensity": ("propensity", "a positive number", [0.0, None, -0.1, float("nan")]),
    "age": ("age", "a finite number or missing", [float("inf")]),
}


@pytest.mark.parametrize("field", BAD)
def test_a_bad_row_is_refused_by_number_and_field_or_skipped_and_counted(field: str) -> None:
    column, rule, values = BAD[field]
    for value in values:
        frame = FRAME.with_columns(polars.col("bought").cast(polars.Float64))
        cells = frame[column].to_list()
        cells[41] = value
        frame = frame.with_columns(polars.Series(column, cells, dtype=polars.Float64))
        with pytest.raises(InvalidInput, match=rf"^row 42 of the log: '{column}' must be {rule}, got "):
            joined(open_log(frame, product=PRODUCT))
        log = open_log(frame, product=PRODUCT, on_bad="skip", key=KEY)
        kept = joined(log)
        assert dict(log.counts.skipped) == {column: 1}
        good = joined(open_log(FRAME.filter(polars.int_range(300) != 41), product=PRODUCT, key=KEY))
        assert np.array_equal(kept.contexts, good.contexts)
        assert np.array_equal(kept.demands, good.demands)


@pytest.mark.parametrize(
    ("column", "cell"), [("price", "cheap"), ("bought", "perhaps"), ("age", "old"), ("member", "2"), ("customer", "")]
)
def test_text_that_is_no_such_thing_is_refused_in_csv_files_and_databases(
    column: str, cell: str, tmp_path: Path
) -> None:
    texts = FRAME.cast(polars.String)
    cells = texts[column].to_list()
    cells[5] = cell
    frame = texts.with_columns(polars.Series(column, cells))
    frame.write_csv(tmp_path / "visits.csv")
    for table in (tmp_path / "visits.csv", write_sqlite(frame, tmp_path / f"{column}.db")):
        with pytest.raises(InvalidInput, match=rf"^row 6 of the log: '{column}' must be .*, got '?{cell}|None"):
            joined(open_log(table, product=PRODUCT))
        log = open_log(table, product=PRODUCT, on_bad="skip")
        joined(log)
        assert dict(log.counts.skipped) == {column: 1}


def test_a_schema_that_refuses_unknown_values_makes_rows_bad() -> None:
    attributes = (Number(name="age", low=18, high=98), Category(name="region", levels=("south", "north")))
    strict = Schema(attributes=attributes, unknown="refuse")
    product = Product(floor=20, ceiling=32, reference_price=25, conversion=0.2, schema=strict)
    frame = FRAME.select("price", "bought", "age", "region")
    log = open_log(frame, product=product, on_bad="skip")
    rows = joined(log)
    good = frame.filter(polars.col("age").is_not_null() & polars.col("region").is_in(["south", "north"]))
    assert np.allclose(rows.contexts, row_by_row(good, product)[0], rtol=0.0, atol=LAST_DIGIT)
    assert sum(log.counts.skipped.values()) == frame.height - good.height
    with pytest.raises(InvalidInput, match="must be one of south, north, got"):
        joined(open_log(frame.filter(polars.col("age").is_not_null()), product=product))


@pytest.mark.parametrize("count", [3, 12])
def test_levels_few_or_many_are_those_of_a_quote(count: int) -> None:
    towns = tuple(f"town {at}" for at in range(count))
    cells = [*towns, None, "elsewhere", *towns]
    frame = polars.DataFrame({"price": [25.0] * len(cells), "bought": [True] * len(cells), "town": cells})
    for levels in (towns, (*towns, OTHER_LEVEL)):
        schema = Schema(attributes=(Category(name="town", levels=levels),))
        product = Product(floor=20, ceiling=32, reference_price=25, conversion=0.2, schema=schema)
        expected = row_by_row(frame, product)[0]
        assert np.array_equal(joined(open_log(frame, product=product)).contexts, expected)
        enum = frame.with_columns(polars.col("town").cast(polars.Categorical))
        assert np.array_equal(joined(open_log(enum, product=product)).contexts, expected)


def test_several_may_be_bought_and_more_than_the_most_is_clipped() -> None:
    product = Product(floor=20, ceiling=30, reference_price=25, conversion=1.0, most=4)
    log = open_log(polars.DataFrame({"price": [25, 25, 25], "quantity": [0, 3, 9]}), product=product)
    assert joined(log).demands.tolist() == [0.0, 0.75, 1.0]
    assert log.counts.clipped["quantity"] == 1


def test_a_product_without_a_schema_takes_the_columns_that_are_left() -> None:
    product = Product(floor=20, ceiling=30, reference_price=25, conversion=0.1, contexts=2)
    frame = polars.DataFrame(
        {"a": [0.5, -2.0], "price": [25, 30], "b": [1, 0], "bought": ["yes", "no"], "time": ["x", "y"]}
    )
    log = open_log(frame, product=product)
    assert joined(log).contexts.tolist() == [[0.5, 1.0], [-1.0, 0.0]]
    assert log.counts.clipped["a"] == 1
    swapped = open_log(frame, product=product, columns=Columns(contexts=("b", "a")))
    assert joined(swapped).contexts.tolist() == [[1.0, 0.5], [0.0, -1.0]]
    with pytest.raises(InvalidInput, match=r"log\.contexts must name 2 columns"):
        open_log(frame.with_columns(c=polars.lit(0.0)), product=product)


def test_a_product_file_says_which_column_is_which(tmp_path: Path) -> None:
    file = tmp_path / "product.toml"
    file.write_text(
        "[product]\nfloor = 20\nceiling = 32\nreference_price = 25\nconversion = 0.2\n"
        '[[product.schema.attributes]]\nkind = "number"\nname = "age"\nlow = 18\nhigh = 98\n'
        '[log]\nprice = "shown"\noutcome = "ordered"\ncustomer = ""\nattributes = { age = "AGE" }\n'
    )
    frame = FRAME.rename({"price": "shown", "bought": "ordered", "age": "AGE"})
    rows = joined(open_log(frame, product=file))
    assert rows.customers is None
    assert np.array_equal(rows.demands, FRAME["bought"].to_numpy().astype(float))
    other = joined(
        open_log(
            frame, product=file, columns={"price": "propensity", "outcome": "ordered", "attributes": {"age": "AGE"}}
        )
    )
    assert (other.prices == -1.0).all()
    file.write_text(file.read_text().replace("shown", "nowhere"))
    with pytest.raises(InvalidInput, match="the log must have a column 'nowhere' for its price, got"):
        open_log(frame, product=file)
    file.write_text(file.read_text().replace('price = "nowhere"', 'prise = "shown"'))
    with pytest.raises(InvalidInput, match=r"\[log\] has the unknown key 'prise'"):
        open_log(frame, product=file)


def test_whole_numbers_with_gaps_are_customers_and_a_gap_is_refused() -> None:
    frame = pandas.DataFrame({"price": [25.0] * 3, "bought": [1, 0, 1], "customer": [7, None, 7]})
    with pytest.raises(InvalidInput, match="row 2 of the log: 'customer' must be a customer's key, got None"):
        joined(open_log(frame, product=PRODUCT_PLAIN))
    rows = joined(open_log(frame, product=PRODUCT_PLAIN, on_bad="skip", key=KEY))
    assert rows.customers is not None
    assert rows.customers.tolist() == digests(polars.Series([7, 7]), KEY).tolist()


PRODUCT_PLAIN = Product(floor=20, ceiling=30, reference_price=25, conversion=0.1)
REFUSED: dict[str, tuple[Any, str]] = {
    "nothing there": ("nowhere.csv", "must be a file, a folder or an address"),
    "no table": (17, "log must be a table, a file or an address, got 'int'"),
    "another order": ("sqlite:///tests/none.db?table=visits&sorted=price", "may say its table and order, and also"),
    "another scheme": ("mysql://host/db?table=visits", "must begin with sqlite:// or postgresql://"),
    "no table named": ("sqlite:///visits.db", "must name its table"),
    "no such database": ("sqlite:///nowhere.db?table=visits", "must be an SQLite file"),
    "no numbers": (polars.DataFrame({"price": [True], "bought": [True]}), "column 'price' must hold numbers, got Bool"),
    "no truths": (
        polars.DataFrame({"price": [1.0], "bought": [datetime.date(2026, 1, 1)]}),
        "column 'bought' must hold numbers, or true and false, got Date",
    ),
    "no keys": (
        polars.DataFrame({"price": [1.0], "bought": [1], "customer": [True]}),
        "column 'customer' must hold customers' keys",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_log_is_refused_in_one_line(case: str) -> None:
    table, expected = REFUSED[case]
    with pytest.raises(InvalidInput, match=expected):
        open_log(table, product=PRODUCT_PLAIN)


def test_a_folder_must_hold_one_kind_of_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"must be a folder of \.parquet or of \.csv files, got neither"):
        open_log(tmp_path, product=PRODUCT)
    forms(tmp_path)
    with pytest.raises(InvalidInput, match="got both"):
        open_log(tmp_path, product=PRODUCT)
    (tmp_path / "visits.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InvalidInput, match=r"visits\.parquet' cannot be read"):
        open_log(tmp_path / "visits.parquet", product=PRODUCT)


def test_a_log_can_be_sent_to_another_process_and_its_rows_are_never_shown() -> None:
    log = open_log(FRAME, product=PRODUCT)
    assert same_rows(log, pickle.loads(pickle.dumps(log)))
    assert repr(joined(log)) == "LogRows(<sensitive>)"
    assert log.secret.hex() not in repr(log)
    assert repr(log.secret) not in repr(log)


def test_an_empty_table_has_no_blocks() -> None:
    log = open_log(FRAME.clear(), product=PRODUCT)
    assert [list(log.blocks(partition)) for partition in range(log.partitions)] == [[]]
    assert read.source_of(pyarrow.table({"a": [1]})).rows == 1


def test_where_all_rows_are_bad_there_is_no_block() -> None:
    table = polars.DataFrame({"price": [None, float("nan")], "bought": [True, False]})
    log = open_log(table, product=Product(floor=20, ceiling=30, reference_price=25, conversion=0.1), on_bad="skip")
    assert list(log.blocks(0)) == []
    assert (log.counts.rows, log.counts.skipped) == (2, {"price": 2})
