"""Odd sizes and odd askings: fits that need more steps, many attributes, empty blocks, files named, nothing printed."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.logs.drawn_logs import PRODUCT, currency, drawn, fit_of, log_of
from tests.logs.test_questions import PRIOR

import hushprice
from hushprice.errors import HushpriceError, InvalidInput
from hushprice.logs import crossed_demand, process_parts, propensities, questions
from hushprice.logs.buckets import BucketSums
from hushprice.logs.databases import PostgresSource, SqliteSource
from hushprice.logs.evaluation import judge
from hushprice.logs.fit.fit_result import Fit
from hushprice.logs.log_reader import LogReader
from hushprice.logs.passes import Part
from hushprice.logs.propensities import LoggedPropensities
from hushprice.logs.richer_model import extra_terms, richer_test
from hushprice.logs.rows import LogRows
from hushprice.logs.survey import MOST_CHOICES, survey
from hushprice.logs.values import Overlap, ValueSums
from hushprice.logs.weighting import Weighting

TOML = "[product]\nfloor = 15.0\nceiling = 35.0\nreference_price = 28.0\nconversion = 0.2\ncontexts = 2\n"


def halves(rows: LogRows) -> tuple[LogRows, LogRows]:
    """The rows in two blocks."""
    middle = len(rows.prices) // 2
    cuts = (slice(0, middle), slice(middle, None))
    return tuple(  # type: ignore[return-value]
        LogRows(rows.contexts[cut], rows.prices[cut], rows.demands[cut], None, rows.propensities[cut], cut.start)  # type: ignore[index]
        for cut in cuts
    )


def visits(rows: LogRows) -> polars.DataFrame:
    columns = {"x1": rows.contexts[:, 0], "x2": rows.contexts[:, 1], "propensity": rows.propensities}
    return polars.DataFrame({"price": currency(rows.prices), "bought": rows.demands > 0.0, **columns})


def test_a_fit_that_needs_more_steps_gives_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = LogReader(log_of(drawn(300, np.random.default_rng(71))))
    crossed = crossed_demand.fit_crossed(fit_of().model, reader)
    chosen = propensities.fit_choices(survey(reader, 2), reader)
    for module in (crossed_demand, propensities):
        monkeypatch.setattr(module, "_STEPS", 1)
    assert not np.allclose(crossed_demand.fit_crossed(fit_of().model, reader).thetas, crossed.thetas, atol=1e-3)
    assert not np.allclose(propensities.fit_choices(survey(reader, 2), reader).weights, chosen.weights, atol=1e-3)


def test_products_of_attributes_are_tried_where_there_are_few() -> None:
    assert extra_terms(np.ones((3, 2)), np.ones(3)).shape == (3, 6)
    assert extra_terms(np.ones((3, 12)), np.ones(3)).shape == (3, 25)  # 91 with products, above 40


def test_blocks_change_neither_a_test_nor_what_is_seen() -> None:
    rows = drawn(400, np.random.default_rng(72), "even")
    empty = drawn(0, np.random.default_rng(73), "even")
    whole, parts = LogReader(log_of(rows)), LogReader(log_of(*halves(rows), empty))
    one, two = (richer_test(fit_of().model, reader) for reader in (whole, parts))
    assert two.statistic == pytest.approx(one.statistic)
    assert len(set(rows.prices[:200])) > MOST_CHOICES
    assert survey(parts, 2).choices == survey(whole, 2).choices == ()
    assert survey(parts, 2).rows == 400


def test_one_row_with_most_of_the_weight_is_no_answer() -> None:
    words, answers = judge(Overlap(rows=1000, weighted=900, effective=500.0, largest=0.3, never=0), "exact")
    assert (words, answers) == ("This log cannot answer: one row has 30% of all weight.", False)


def test_earnings_of_no_weight_are_none() -> None:
    weighting = Weighting(way="exact", propensities=LoggedPropensities("probability", PRODUCT.reach), ends=(-1.0, 1.0))
    sums = ValueSums(PRODUCT, fit_of(), weighting, lambda rows, prices: np.zeros_like(prices))
    assert sums.estimate(2, 1, 0.95) is None
    assert repr(sums) == "ValueSums(<sensitive>)"


def test_sums_and_fits_of_rows_do_not_print() -> None:
    reader = LogReader(log_of(drawn(200, np.random.default_rng(74))))
    held: tuple[Any, ...] = (
        BucketSums(2),
        survey(reader, 2),
        crossed_demand.fit_crossed(fit_of().model, reader),
    )
    assert [repr(each) for each in held] == [f"{type(each).__name__}(<sensitive>)" for each in held]


def test_a_policy_may_be_named_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "product.toml").write_text(TOML)
    contexts = np.random.default_rng(75).uniform(-1.0, 1.0, (20, 2))
    assert questions.policy_of(str(tmp_path / "product.toml"), PRODUCT).prices(contexts) == pytest.approx(0.3)
    monkeypatch.setattr(questions, "read_prior", lambda path: PRIOR)
    named = questions.policy_of("fit.json", PRODUCT)
    assert named.label == "fit fit.json"
    assert named.prices(contexts) == pytest.approx(fit_of().prices(contexts))
    fit = Fit.__new__(Fit)
    monkeypatch.setattr(Fit, "prior", lambda self: PRIOR)
    assert questions.policy_of(fit, PRODUCT).prices(contexts) == pytest.approx(fit_of().prices(contexts))


def test_a_release_is_asked_for_by_epsilon_and_by_nothing_else() -> None:
    table = visits(drawn(600, np.random.default_rng(76)))
    asked: dict[str, Any] = {"product": PRODUCT, "policy": PRIOR}
    with pytest.raises(InvalidInput, match="prices is for a release: give epsilon as well"):
        hushprice.evaluate(table, prices=(20.0, 25.0), **asked)
    with pytest.raises(InvalidInput, match="propensity must not be 'estimate' in a release"):
        hushprice.evaluate(table, epsilon=1.0, propensity="estimate", **asked)
    released = hushprice.evaluate(table, epsilon=1.0, prices=(17.0, 21.0, 25.0, 29.0, 33.0), **asked)
    checked = hushprice.check_fit(table, PRIOR, product=PRODUCT, epsilon=1.0)
    for answer in (released, checked):
        assert answer.label.startswith("RELEASE")
        assert answer.ledger is not None
        assert answer.ledger.claimed.epsilon == 1.0


def test_a_database_says_of_which_kind_its_columns_are(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE visits (bought BOOLEAN, units INTEGER, price NUMERIC, at TIMESTAMP, note TEXT)")
        database.execute("INSERT INTO visits VALUES (1, 2, 9.5, '2026-01-01 10:00', 'a')")
    database.close()
    source = SqliteSource(file, "visits")
    kinds = [polars.Boolean, polars.Int64, polars.Float64, polars.Datetime, polars.String]
    assert list(source.types.values()) == kinds
    (chunk,) = source.chunks(0, ["at", "units"])
    assert chunk.frame.rows() == [("2026-01-01 10:00", 2)]  # times are parsed later, as text
    assert source.identity[1:] == ["visits", ""]
    assert source.name == str(file)
    with pytest.raises(InvalidInput, match="has no table 'nobody'"):
        SqliteSource(file, "nobody")
    with pytest.raises(InvalidInput, match="has no column 'nowhere' to be ordered by"):
        SqliteSource(file, "visits", "nowhere")
    with pytest.raises(InvalidInput, match="must not hold a zero byte"):
        next(source.chunks(0, ["a\0b"]))
    file.write_bytes(b"no database" * 100)
    with pytest.raises(InvalidInput, match=r"cannot be read: .*not a database"):
        SqliteSource(file, "visits")


def test_a_table_of_a_server_goes_by_its_name() -> None:
    source = PostgresSource.__new__(PostgresSource)
    source.table = "public.visits"
    assert source.name == "public.visits"


def count_rows(rows: LogRows) -> np.ndarray:
    return np.array([len(rows.prices)])


def test_a_worker_reads_what_it_was_given_and_leaves_an_interrupt_to_who_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ignored: list[object] = []
    monkeypatch.setattr(process_parts.signal, "signal", lambda number, handler: ignored.append((number, handler)))
    monkeypatch.setattr(process_parts, "_work", None)
    with pytest.raises(HushpriceError, match="this process was given no log"):
        process_parts._part(0)
    process_parts._begin(log_of(drawn(30, np.random.default_rng(77))), count_rows, 1)
    assert ignored == [(signal.SIGINT, signal.SIG_IGN)]
    assert process_parts._part(0).sums == [30]


def test_a_pass_gives_up_when_its_processes_keep_dying(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def dying(self: object, log: object, add: object, size: int, partitions: list[int]) -> Iterator[Any]:
        tries.append(len(partitions))
        raise BrokenProcessPool
        yield

    monkeypatch.setattr(process_parts.ProcessParts, "_pooled", dying)
    with pytest.raises(HushpriceError, match="1 parts of the log could not be read: their process died"):
        list(process_parts.ProcessParts().run(log_of(), count_rows, 1, [0]))
    assert len(tries) == process_parts.IDLE
    tries.clear()

    def one_by_one(self: object, log: object, add: object, size: int, partitions: list[int]) -> Iterator[Any]:
        tries.append(len(partitions))
        yield Part(partitions[0], [1], None)
        raise BrokenProcessPool

    monkeypatch.setattr(process_parts.ProcessParts, "_pooled", one_by_one)
    with pytest.raises(HushpriceError, match="9 parts of the log could not be read"):
        list(process_parts.ProcessParts().run(log_of(), count_rows, 1, list(range(30))))
    assert len(tries) == process_parts.LOSSES + 1
