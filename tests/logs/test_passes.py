"""A pass adds whole numbers exactly, whatever their size and wherever they are added."""

from __future__ import annotations

import numpy as np
import pytest
from tests.logs.tables import PRODUCT, visits

from hushprice.errors import InvalidInput
from hushprice.logs import encoding, sources
from hushprice.logs.passes import run_pass
from hushprice.logs.read import open_log
from hushprice.logs.rows import LogRows

FRAME = visits(300)


def large(rows: LogRows) -> list[int]:
    """Numbers that no 64 bits hold."""
    cents = np.rint(rows.prices * 2**40).astype(np.int64).tolist()
    return [sum(cent * cent * cent for cent in cents), len(cents)]


def test_sums_are_exact_however_the_log_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_pass(open_log(FRAME, product=PRODUCT), large, 2)
    assert whole[1] == 300
    assert abs(whole[0]) > 2**64
    monkeypatch.setattr(sources, "PART", 70)
    monkeypatch.setattr(sources, "CHUNK", 32)
    monkeypatch.setattr(encoding, "BLOCK", 10)
    done: list[tuple[int, int]] = []
    cut = run_pass(open_log(FRAME, product=PRODUCT), large, 2, progress=lambda *at: done.append(at))
    assert cut == whole
    assert done == [(at, 5) for at in range(1, 6)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5], "whole numbers, got 0.5"),
        ([True], "whole numbers, got True"),
        (np.array([1.0]), "whole numbers, got an array of float64"),
        ([1, 2], "1 whole numbers, got 2"),
    ],
)
def test_anything_but_whole_numbers_is_refused(given: object, expected: str) -> None:
    with pytest.raises(InvalidInput, match=f"^add must give {expected}$"):
        run_pass(open_log(FRAME, product=PRODUCT), lambda rows: given, 1)  # type: ignore[arg-type,return-value]
