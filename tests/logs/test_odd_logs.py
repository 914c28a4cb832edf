"""What a reader refuses, and the odd tables that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.logs.tables import KEY, PRODUCT, visits

from hushprice.demand.schema import Boolean, Category, Number, Schema
from hushprice.errors import InvalidInput
from hushprice.logs import encoding, schema_plan, table_counts
from hushprice.logs.bounded import bounded
from hushprice.logs.columns import Columns
from hushprice.logs.fit.run_fit import fit
from hushprice.logs.fit.whole_sums import published
from hushprice.logs.passes import SerialParts, run_pass
from hushprice.logs.proposal_text import text_of
from hushprice.logs.propose import propose
from hushprice.logs.read import open_log
from hushprice.logs.rows import LogRows
from hushprice.logs.schema_plan import Declared
from hushprice.logs.stored_parts import write_private
from hushprice.noise import Tape
from hushprice.product import Product

PLAIN = Product(floor=20.0, ceiling=30.0, reference_price=25.0, conversion=0.3)


class Parts:
    """A log of so many parts, with customers or without."""

    def __init__(self, *customers: bool) -> None:
        self.customers, self.partitions = customers, len(customers)

    def blocks(self, partition: int) -> Iterator[LogRows]:
        who = np.zeros(1, dtype=np.int64) if self.customers[partition] else None
        yield LogRows(np.zeros((1, 0)), np.zeros(1), np.zeros(1), who, None, partition)


class Nothing:
    partitions = 1

    def blocks(self, partition: int) -> Iterator[LogRows]:
        return iter(())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"price": 3}, "log.price must be a column's name, got 3"),
        ({"attributes": ["age"]}, "log.attributes must be a table of names"),
        ({"attributes": {"age": ""}}, "log.attributes.age must be a column's name, got ''"),
        ({"contexts": "x"}, "log.contexts must be a list of names, got 'x'"),
    ],
)
def test_columns_that_name_none_are_refused(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        Columns(**given)


def test_an_attribute_that_the_product_lacks_is_refused() -> None:
    with pytest.raises(InvalidInput, match="names 'shoe', which the product does not have"):
        open_log(visits(3), product=PRODUCT, columns=Columns(attributes={"shoe": "age"}))


def test_a_log_without_rows_is_itself_and_one_with_customers_in_parts_is_refused() -> None:
    nothing = Nothing()
    assert bounded(nothing, most=1) is nothing
    with pytest.raises(InvalidInput, match="every part of the log must have customers"):
        bounded(Parts(True, False), most=1)


def test_a_bounded_log_is_known_by_the_log_it_was_made_of(tmp_path: Path) -> None:
    visits(20).write_parquet(tmp_path / "log.parquet")
    log = open_log(tmp_path / "log.parquet", product=PRODUCT, key=KEY)
    assert bounded(log, most=2).identity == [log.identity, "bounded", 2]  # type: ignore[attr-defined]
    assert bounded(Parts(True), most=2).identity is None  # type: ignore[attr-defined]


def test_columns_of_lists_and_a_part_that_lost_rows_are_refused(tmp_path: Path) -> None:
    listed = visits(3).with_columns(region=polars.lit([1]))
    with pytest.raises(InvalidInput, match="column 'region' must hold levels of 'region'"):
        open_log(listed, product=PRODUCT)
    file = tmp_path / "log.parquet"
    visits(30).write_parquet(file)
    log = open_log(file, product=PRODUCT)
    visits(10).write_parquet(file)
    with pytest.raises(InvalidInput, match=r"changed while it was read: 'log\.parquet' lost rows"):
        list(log.blocks(0))


def test_an_encoding_that_does_not_go_row_by_row_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(visits(3), product=PRODUCT)
    monkeypatch.setattr(encoding.Encoder, "_named", lambda self: [polars.lit(1.0).alias("v0")])
    with pytest.raises(InvalidInput, match="could not be read row by row"):
        list(log.blocks(0))


def test_whole_numbers_missing_numbers_and_levels_without_another_are_read() -> None:
    schema = Schema(
        attributes=(
            Number(name="age", low=0, high=10),
            Number(name="gap", low=0, high=10, flag_missing=True),
            Category(name="place", levels=("here", "there")),
            Boolean(name="member"),
        ),
        unknown="other",
    )
    product = Product(floor=20.0, ceiling=32.0, reference_price=25.0, conversion=0.2, schema=schema)
    frame = polars.DataFrame(
        {
            "price": [25, 25, 25],
            "bought": [1, 0, 1],
            "age": ["5", " ", "20"],
            "gap": [5, None, 10],
            "place": ["there", "moon", None],
            "member": [True, None, False],
        }
    )
    (rows,) = open_log(frame, product=product).blocks(0)
    assert rows.contexts.tolist() == [
        [0.0, 0.0, 0.0, 1.0, 1.0],
        [0.0, 0.0, 1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0, -1.0],
    ]


def test_a_column_may_be_named_as_the_reader_names_its_own() -> None:
    frame = visits(50).with_columns(polars.lit(7).alias("level of region"))
    (odd,) = open_log(frame, product=PRODUCT, key=KEY).blocks(0)
    (plain,) = open_log(visits(50), product=PRODUCT, key=KEY).blocks(0)
    assert np.array_equal(odd.contexts, plain.contexts)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_private(tmp_path / "none" / "part", b"")


def test_rows_and_parts_do_not_show_what_they_hold() -> None:
    log = open_log(visits(3), product=PRODUCT)
    assert "sensitive" in repr(next(iter(log.blocks(0))))
    (part,) = SerialParts().run(log, lambda rows: [len(rows.prices)], 1, [0])
    assert repr(part) == "Part(<sensitive>)"


def test_any_executor_may_be_brought_along() -> None:
    log = open_log(visits(30), product=PRODUCT)
    assert run_pass(log, lambda rows: [len(rows.prices)], 1, executor=SerialParts()) == [30]


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.dat").write_text("price,bought\n")
    with pytest.raises(InvalidInput, match=r"must end in \.csv or \.parquet"):
        open_log(tmp_path / "log.dat", product=PRODUCT)

    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise ValueError("broken")

    with pytest.raises(InvalidInput, match="cannot be read as a table: broken"):
        open_log(Broken(), product=PRODUCT)


class Silent:
    label, simulated = "silent", True


def test_a_source_without_normals_is_refused() -> None:
    with pytest.raises(InvalidInput, match="source 'silent' gives no normals"):
        published([1], 1.0, Silent(), 0)  # type: ignore[arg-type]


def test_a_file_in_and_a_file_out(tmp_path: Path) -> None:
    visits(300).drop("customer").write_csv(tmp_path / "log.csv")
    found = fit(tmp_path / "log.csv", product=PRODUCT, epsilon=1.0, output=tmp_path / "fit.json")
    assert (found.unit, found.known) == ("row", 300)


def test_bytes_that_are_no_table_are_refused(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"no table at all")
    with pytest.raises(InvalidInput, match="cannot be read: "):
        open_log(tmp_path / "log.parquet", product=PRODUCT)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"price,bought,price\n25,1,24\n", r"log '.*odd\.csv' has two columns 'price'"),
        (b"price,bought\n25,1\n25,1,3\n", r"log 'odd\.csv': row 2 has 3 fields, the header 2"),
        (b"price,bought,place\n25,1,Bath\n25,1,York, UK\n", r"log 'odd\.csv': row 2 has 4 fields, the header 3"),
        (b"price;bought\n25;1\n", r"log '.*odd\.csv' must have commas between its cells, got ';'"),
        (b"price\tbought\n25\t1\n", r"log '.*odd\.csv' must have commas between its cells, got '\\t'"),
        (b"price,bought\n25,\xe9\n", r"log 'odd\.csv': row 1 is not UTF-8"),
        (b"", r"log '.*odd\.csv' cannot be read: empty CSV"),
        (b'price,bought\n25,"' + b"1" * 200_000 + b"\n25,\xe9\n", r"log '.*odd\.csv' cannot be read: "),
    ],
)
def test_a_csv_file_that_cannot_be_read_says_which_row_is_odd(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "odd.csv").write_bytes(content)
    with pytest.raises(InvalidInput, match=words) as problem:
        fit(tmp_path / "odd.csv", product=PLAIN, epsilon=1.0)
    assert "\n" not in str(problem.value)


def test_every_file_of_a_folder_must_have_the_columns_once(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("price,bought\n" + "25,1\n" * 20)
    (tmp_path / "2.csv").write_text("price,sold\n25,1\n")
    with pytest.raises(InvalidInput, match=r"cannot be read: .*bought"):
        fit(tmp_path, product=PLAIN, epsilon=1.0)
    (tmp_path / "2.csv").write_text("price,bought,bought\n25,1,0\n")
    with pytest.raises(InvalidInput, match="has two columns 'bought'"):
        open_log(tmp_path, product=PLAIN)


def test_a_log_of_hardly_any_rows_is_not_fitted(tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text("price,bought\n")
    with pytest.raises(InvalidInput, match="the log must have at least 10 rows, got 0"):
        fit(tmp_path / "short.csv", product=PLAIN, epsilon=1.0)


def test_a_file_that_is_gone_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    visits(3).write_parquet(file)
    log = open_log(file, product=PRODUCT)
    file.unlink()
    with pytest.raises(InvalidInput, match="cannot be read: ") as caught:
        list(log.blocks(0))
    assert len(str(caught.value).splitlines()) == 1


def table(count: int, **columns: object) -> polars.DataFrame:
    given = {"price": np.tile([20.0, 30.0], count // 2), "bought": np.arange(count) % 4 == 0} | columns
    return polars.DataFrame(given)


def test_a_proposal_leaves_out_what_hardly_varies_and_what_a_product_has_no_room_for() -> None:
    levels = tuple(f"l{at}" for at in range(20))
    frame = table(
        4000, same=np.full(4000, 7), one=np.tile(["l1", ""], 2000), two=np.tile(["l1", "l2"], 2000), three=["l1"] * 4000
    )
    declared = Declared(levels={"one": levels, "two": levels})
    proposal = propose(frame, declared=declared, epsilon=5.0, delta=1e-6, noise=Tape(1, 0))
    assert proposal.left_out["same"].endswith("it hardly varies")
    assert proposal.left_out["two"].startswith("exact: a product has at most")


def test_a_proposal_that_leaves_nothing_out_or_counts_a_sample_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(4000, text=["", "a", "a", "b"] * 1000)
    price = Declared(roles={"price": "price"})
    whole = text_of(propose(frame, declared=price, epsilon=5.0, delta=1e-6, noise=Tape(1, 0)))
    assert "no attribute:" not in whole
    assert "one in" not in whole
    monkeypatch.setattr(table_counts, "SAMPLE", 2000)
    assert "one in 2 was counted" in text_of(propose(frame, epsilon=5.0, delta=1e-6, noise=Tape(1, 0)))


def test_a_proposal_needs_columns_that_are_there_and_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="the log has no column 'cost' for its price"):
        propose(table(4), declared=Declared(roles={"price": "cost"}), epsilon=1.0)
    monkeypatch.setattr(schema_plan, "_TRIES", 0)
    with pytest.raises(InvalidInput, match="epsilon must be large enough"):
        propose(table(4), epsilon=1.0, delta=1e-6, noise=Tape(1, 0))
