"""An aggregator's file: noise is drawn once, a report is added up once, and what is in doubt is dropped."""

from __future__ import annotations

import math
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.policies.cautious.test_aggregator import Silent
from tests.policies.cautious.test_reports import AGGREGATED, rules_of

from hushprice.errors import InvalidInput
from hushprice.noise import System
from hushprice.policies.cautious.pricing.question import grids_of_choice, promise_of, question_of
from hushprice.policies.cautious.pricing.quoter import CautiousQuoter
from hushprice.policies.cautious.private.aggregator import joined, promised, scales_of
from hushprice.service.aggregating.aggregator_main import promises_in
from hushprice.service.aggregating.aggregator_store import AggregatorStore, NotAgreed
from hushprice.service.shared.aggregator_messages import Agreed, BatchOver, Share, ShareTaken
from hushprice.trust import shares
from hushprice.trust.question import Record, contribution

QUOTER = CautiousQuoter(rules_of(AGGREGATED))
PROMISE, CHOICE, QUESTION = promise_of(QUOTER), QUOTER.rule.choice, question_of(QUOTER)
EVENT = promised(PROMISE)
GRIDS, SCALES = grids_of_choice(EVENT, CHOICE), np.array(scales_of(EVENT, CHOICE))
IDS = [f"{n:032x}" for n in range(8)]


def opened(folder: Path, source: System | None = None) -> AggregatorStore:
    folder.mkdir(exist_ok=True)
    return AggregatorStore(folder / "aggregator.db", {"tea": PROMISE}, notes=folder, source=source)


def share(identity: str, words: Sequence[int], **changes: Any) -> Share:
    given = {"product": "tea", "quote": identity, "choice": CHOICE, "least": EVENT.least, "most": EVENT.most}
    return Share(**given | {"grids": GRIDS, "words": shares.written(words)} | changes)  # type: ignore[arg-type]


def over(ids: Sequence[str], follows: int = 0) -> BatchOver:
    return BatchOver(product="tea", follows=follows, choice=CHOICE, quotes="".join(ids))


def agreed(batch: BatchOver, ids: Sequence[str]) -> Agreed:
    return Agreed(product="tea", batch=batch.name, quotes="".join(ids))


def test_the_promise_is_that_of_the_shops_rules() -> None:
    assert QUOTER.rules.event(live=True) == EVENT


def summed(folder: Path, source: System | None = None) -> tuple[list[float], list[float]]:
    """What the two publish of records of which one reached one of them alone, and what it should be without noise."""
    rng, exact = np.random.default_rng(4), np.zeros(SCALES.size)
    first, second = (opened(folder / name, source) for name in ("one", "two"))
    for n, identity in enumerate(IDS):
        record = Record(rng.uniform(-1, 1, 2).tolist(), float(rng.choice([-1.0, 1.0])), 0.1, float(n % 3 == 0))
        one, other = shares.split(shares.numbers(QUESTION, GRIDS, record))
        first.receive(share(identity, one))
        if n != 5:
            second.receive(share(identity, other))
            exact += np.concatenate(contribution(QUESTION, record))
    batch = over(IDS)
    assert first.over(batch) == "".join(IDS)
    both = [each for each in IDS if each != IDS[5]]
    assert second.over(batch) == "".join(both)
    told = [shares.read(each.publish(agreed(batch, both))[1]) for each in (first, second)]
    first.close()
    second.close()
    return joined(EVENT, CHOICE, *told), np.where(SCALES > 0.0, exact, 0.0).tolist()


def test_who_reached_both_is_added_up(tmp_path: Path) -> None:
    tmp_path.joinpath("whole").mkdir()
    found, exact = summed(tmp_path / "whole", Silent())
    assert found == pytest.approx(exact, abs=len(IDS) * 2.0**-26)


def test_a_list_that_is_not_agreed_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: each adds up all that it has, so one share is without its other, and the sum is noise of 64 bits."""
    true = AggregatorStore._total

    def all_of_it(store: AggregatorStore, event: Any, choice: int, asked: Agreed) -> str:
        rows = store._connection.execute("SELECT quote FROM share WHERE batch = ? AND held", (asked.batch,)).fetchall()
        everything = Agreed(product="tea", batch=asked.batch, quotes="".join(each.hex() for (each,) in rows))
        return true(store, event, choice, everything)

    monkeypatch.setattr(AggregatorStore, "_total", all_of_it)
    found, exact = summed(tmp_path, Silent())
    assert found != pytest.approx(exact, abs=1.0)


def noisy(folder: Path, source: System | None) -> bool:
    """Does one aggregator alone add all of the noise? No, by mistake, 7 times in ten million: 5 standard errors."""
    store, runs, of_scores = opened(folder, source), 60, 2 * (EVENT.contexts + 1)
    laplace = np.r_[np.arange(of_scores), SCALES.size - 2, SCALES.size - 1]
    variance = SCALES**2 * np.where(np.isin(np.arange(SCALES.size), laplace), 2.0, 1.0)
    alone = np.zeros((runs, SCALES.size))
    for n in range(runs):
        batch = over([], follows=n)
        store.over(batch)
        alone[n] = joined(EVENT, CHOICE, shares.read(store.publish(agreed(batch, []))[1]), [0] * SCALES.size)
    store.close()
    used = SCALES > 0.0
    ratio = alone[:, used] ** 2 / variance[used]
    return abs(float(ratio.mean()) - 1.0) < 5.0 * math.sqrt(5.0 / ratio.size)  # a Laplace number's fourth moment is 6


def test_each_adds_all_of_the_noise(tmp_path: Path) -> None:
    assert noisy(tmp_path / "one", None)


def test_noise_that_is_missing_at_one_is_caught(tmp_path: Path) -> None:
    """Planted."""
    assert not noisy(tmp_path / "one", Silent())


def test_a_batch_is_out_once_and_a_report_is_in_one(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.receive(share(IDS[0], [1] * SCALES.size))
    store.receive(share(IDS[1], [1] * SCALES.size))
    batch = over(IDS[:2])
    assert store.over(batch) == store.over(batch) == "".join(IDS[:2])
    told = store.publish(agreed(batch, IDS[:1]))
    assert store.publish(agreed(batch, IDS[:1])) == told
    with pytest.raises(NotAgreed, match="of other reports"):
        store.publish(agreed(batch, IDS[:2]))
    assert store.receive(share(IDS[1], [1] * SCALES.size)) == ShareTaken("late")
    again = over(IDS[:3], follows=9)
    assert store.over(again) == ""
    with pytest.raises(NotAgreed, match="not here"):
        store.publish(agreed(again, IDS[:1]))
    assert store.receive(share(IDS[2], [1] * SCALES.size)) == ShareTaken("recorded")  # too late, and in no total
    assert store.over(again) == ""
    with pytest.raises(NotAgreed, match="not here"):
        store.publish(agreed(again, IDS[2:3]))
    assert repr(store) == "AggregatorStore(<sensitive>)"
    store.close()
    connection = sqlite3.connect(tmp_path / "aggregator.db")
    assert connection.execute("SELECT count(*) FROM share WHERE words IS NOT NULL").fetchone() == (1,)
    connection.close()


def test_a_report_stays_in_the_batch_it_is_in(tmp_path: Path) -> None:
    """Named a second time before the first batch is out, with few and with many others that wait."""
    store = opened(tmp_path, Silent())
    for identity in IDS[:6]:
        store.receive(share(identity, [1] * SCALES.size))
    batch = over(IDS[:2])
    assert store.over(batch) == "".join(IDS[:2])
    assert store.over(over(IDS[:2], follows=5)) == store.over(over([*IDS[:2], *IDS[6:]], follows=6)) == ""
    assert store.over(over(IDS, follows=7)) == "".join(IDS[2:6])
    total = shares.read(store.publish(agreed(batch, IDS[:2]))[1])
    assert total == [2 * int(scale > 0.0) for scale in SCALES]
    store.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"least": EVENT.least - 0.1},
        {"most": EVENT.most * 2.0},
        {"most": math.nan},
        {"grids": shares.Grids(common=40, personal=40, description=40, holdout=40, earnings=40)},
    ],
)
def test_a_share_of_numbers_held_to_other_bounds_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Residuals of a wider range would move a sum by more than the noise was bought for."""
    store = opened(tmp_path)
    with pytest.raises(InvalidInput, match=f"^{next(iter(changes))} must be what this aggregator promises noise for"):
        store.receive(share(IDS[0], [1] * SCALES.size, **changes))
    assert store.over(over(IDS[:1])) == ""
    store.close()


def test_a_share_for_another_choice_is_left_out(tmp_path: Path) -> None:
    store, other = opened(tmp_path), (CHOICE + 1) % len(EVENT.scales)
    size = len(scales_of(EVENT, other))
    store.receive(share(IDS[0], [1] * size, choice=other, grids=grids_of_choice(EVENT, other)))
    assert store.over(over(IDS[:1])) == ""
    store.close()


@pytest.mark.parametrize("lost", ["store", "note"])
def test_shares_that_may_be_in_a_total_already_are_dropped(tmp_path: Path, lost: str) -> None:
    """The store is set back to before the batch was out; or nothing says whether it was."""
    store = opened(tmp_path)
    store.receive(share(IDS[0], [1] * SCALES.size))
    before = over([], follows=1)
    store.over(before)
    store.publish(agreed(before, []))
    batch = over(IDS[:1])
    assert store.over(batch) == IDS[0]
    store.receive(share(IDS[1], [1] * SCALES.size))
    store.close()
    path, (note,) = tmp_path / "aggregator.db", tmp_path.glob("aggregated-*.json")
    if lost == "store":
        shutil.copy(path, tmp_path / "backup")
        store = opened(tmp_path)
        store.publish(agreed(batch, IDS[:1]))
        store.close()
        for each in tmp_path.glob("aggregator.db*"):
            each.unlink()
        shutil.copy(tmp_path / "backup", path)
    else:
        note.unlink()
    store = opened(tmp_path)
    assert store.over(batch) == ""
    assert store.receive(share(IDS[1], [1] * SCALES.size)) == ShareTaken("late")
    with pytest.raises(NotAgreed):
        store.publish(agreed(batch, IDS[:1]))
    assert store.receive(share(IDS[2], [1] * SCALES.size)) == ShareTaken("recorded")
    store.close()
    store = opened(tmp_path)  # once is enough
    assert store.over(over(IDS[2:3], follows=2)) == IDS[2]
    store.close()


def test_a_crash_between_total_and_note_drops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody was told; the total is there, and is told when it is asked for again."""
    store = opened(tmp_path)
    store.receive(share(IDS[0], [1] * SCALES.size))
    store.over(over([]))
    with monkeypatch.context() as patch:
        patch.setattr(AggregatorStore, "_write_note", lambda store: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.publish(agreed(over([]), []))
    store.close()
    store = opened(tmp_path)
    assert len(store.publish(agreed(over([]), []))[1]) == 16 * SCALES.size
    assert store.over(over(IDS[:1], follows=2)) == IDS[0]
    store.close()


def test_what_is_no_file_of_its_own_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(InvalidInput, match="must stay what it was"):
        AggregatorStore(tmp_path / "aggregator.db", {"tea": replace(PROMISE, epsilon=2.0)}, notes=tmp_path)
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("PRAGMA application_id = 7")
    connection.close()
    with pytest.raises(InvalidInput, match="another program"):
        AggregatorStore(tmp_path / "other.db", {"tea": PROMISE}, notes=tmp_path)
    with pytest.raises(InvalidInput, match="cannot be used"):
        AggregatorStore(tmp_path / "nowhere" / "a.db", {"tea": PROMISE}, notes=tmp_path)


def test_waiting_shares_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hushprice.service.aggregating.aggregator_store.MOST_WAITING", 1)
    store = opened(tmp_path)
    store.receive(share(IDS[0], [1] * SCALES.size))
    with pytest.raises(NotAgreed, match="too many"):
        store.receive(share(IDS[1], [1] * SCALES.size))
    store.over(over(IDS[:1]))
    assert store.receive(share(IDS[1], [1] * SCALES.size)) == ShareTaken("recorded")
    store.close()


@pytest.mark.parametrize(
    ("text", "says"),
    [("[tea]\nepsilon = 1.0\n", "delta"), ("tea", "promises"), ("[tea]\nx = 1", "promises")],
)
def test_promises_are_read_or_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "promises.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=says):
        promises_in(file)


def test_without_promises_yet_there_is_no_product(tmp_path: Path) -> None:
    file = tmp_path / "promises.toml"
    file.write_text("")
    assert promises_in(file) == {}


def test_nobody_else_may_read_what_lies_beside_the_store(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.receive(share(IDS[0], [1] * SCALES.size))
    beside = list(tmp_path.glob("aggregator.db*"))
    assert len(beside) == 3  # the write-ahead log, with shares in it, and its index
    assert [file.stat().st_mode & 0o077 for file in beside] == [0, 0, 0]
    store.close()
