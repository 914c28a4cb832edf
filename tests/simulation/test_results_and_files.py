"""What a result says of itself, the comparison of several, and that files appear whole or not at all."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import polars
import pytest

from hushprice.errors import InvalidInput
from hushprice.simulation import compare
from hushprice.simulation.atomic_file import check_folder, check_parquet, whole_file, write_figure, write_parquet
from hushprice.simulation.drawing import regret_picture
from hushprice.simulation.result import Mean
from hushprice.simulation.run import simulate

SMALL: dict[str, Any] = {"horizon": 500, "trials": 3, "workers": 1}


def test_a_mean_comes_with_its_standard_error() -> None:
    values = np.array([1.0, 2.0, 6.0])
    assert Mean.of(values) == Mean(3.0, pytest.approx(math.sqrt(7.0 / 3.0)))
    assert Mean.of(np.array([2.0])) == Mean(2.0, None)
    assert Mean.of(np.array([1.0, math.nan])) == Mean(None, None)


def test_labels_tell_calibrations_and_the_yardstick_apart() -> None:
    assert simulate("paper", calibration="printed", **SMALL).label == "paper (printed)"
    assert simulate("nonprivate", **SMALL).label == "nonprivate"
    assert simulate("fixed", **SMALL).label == "fixed (best in hindsight)"
    assert simulate("fixed", price=0.5, **SMALL).label == "fixed"


def test_privacy_is_reported_as_the_policy_states_it() -> None:
    def claims(policy: str) -> Any:
        return simulate(policy, epsilon=0.5, delta=1e-4, **SMALL).to_dict()["privacy"]

    stated = claims("paper")
    assert stated["claimed"] == {"epsilon": 0.5, "delta": pytest.approx(1e-4)}
    assert stated["proven"] == {"epsilon": pytest.approx(0.5, rel=1e-6), "delta": stated["claimed"]["delta"]}
    assert stated["proven"]["epsilon"] <= 0.5
    for policy in ("random", "fixed"):
        assert claims(policy)["claimed"] == claims(policy)["proven"] == {"epsilon": 0.0, "delta": 0.0}
    for policy in ("nonprivate", "clairvoyant", "input-perturbation"):
        assert claims(policy)["claimed"] is None
        assert claims(policy)["proven"] is None


def test_the_file_has_one_row_a_trial_with_the_numbers_of_the_result(tmp_path: Path) -> None:
    result = simulate("paper", **SMALL)
    result.write(tmp_path / "deep" / "runs.parquet")
    frame = polars.read_parquet(tmp_path / "deep" / "runs.parquet")
    assert frame["trial"].to_list() == [0, 1, 2]
    assert frame["average_regret"].to_list() == result.regret.tolist()
    assert frame["average_revenue"].to_list() == result.revenue.tolist()
    assert frame["average_surplus"].to_list() == result.surplus.tolist()
    assert frame["estimates"].to_list() == result.estimates.tolist()
    assert frame.select("policy", "calibration", "horizon", "dimension", "seed").unique().row(0) == (
        "paper",
        "tight",
        500,
        2,
        0,
    )


def test_a_comparison_always_shows_the_best_fixed_price_and_nothing_twice() -> None:
    results = compare.compare_policies(["random", "paper@printed", "random"], **SMALL)
    assert [each.label for each in results] == ["random", "paper (printed)", "fixed (best in hindsight)"]
    clairvoyant = [each.regret + each.revenue for each in results]
    np.testing.assert_allclose(clairvoyant, np.broadcast_to(clairvoyant[0], (3, 3)), rtol=1e-12)


def test_a_comparison_reports_progress_over_all_policies() -> None:
    seen: list[tuple[int, int]] = []
    compare.compare_policies(["random", "nonprivate"], progress=lambda *at: seen.append(at), **SMALL)
    assert seen[-1] == (4500, 4500)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize("name", ["papier", "paper@loose", "paper@", "random@printed", ""])
def test_a_misspelt_policy_is_refused_before_any_policy_runs(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def run_too_early(*args: Any, **settings: Any) -> None:
        pytest.fail("a policy ran before every name was checked")

    monkeypatch.setattr(compare, "run", run_too_early)
    with pytest.raises(InvalidInput) as caught:
        compare.compare_policies(["random", name], **SMALL)
    assert repr(name) in str(caught.value)


def test_the_picture_shows_average_regret_under_the_names_of_the_table() -> None:
    results = compare.compare_policies(["paper@published", "nonprivate"], **SMALL)
    (axes,) = regret_picture(results, title="three lines").axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"paper (published)", "nonprivate", "fixed (best in hindsight)"}
    for result in results:
        line = lines[result.label]
        np.testing.assert_array_equal(line.get_xdata(), result.checkpoints)
        assert float(np.asarray(line.get_ydata())[-1]) == pytest.approx(1e4 * result.regret.mean())
        assert line.get_linestyle() == ("-" if result.calibration else "--")  # dashed: not private, or learns nothing
    assert axes.get_title(loc="left") == "three lines"


@pytest.mark.parametrize("policy", ["clairvoyant", "nonprivate"])
def test_a_single_trial_and_a_regret_of_zero_can_be_drawn(tmp_path: Path, policy: str) -> None:
    write_figure(simulate(policy, horizon=50, trials=1).plot(), tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_a_comparison_leaves_three_whole_files(tmp_path: Path) -> None:
    results = compare.compare_policies(["random"], **SMALL)
    files = compare.write_comparison(results, tmp_path / "demo")
    assert sorted(tmp_path.rglob("*.*")) == sorted(files)
    assert [file.name for file in files] == ["comparison.png", "comparison.svg", "trials.parquet"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files[1].read_text()
    assert polars.read_parquet(files[2])["policy"].to_list() == ["random"] * 3 + ["fixed"] * 3


def test_a_picture_is_laid_out_when_it_is_first_written_and_stays_so(tmp_path: Path) -> None:
    figure = matplotlib.figure.Figure(layout="constrained")
    axes = figure.add_subplot()
    before = axes.get_position().bounds
    write_figure(figure, tmp_path / "one.svg")
    first = axes.get_position().bounds
    assert first != before
    axes.set_ylabel("words\nthat\nneed\nroom")
    write_figure(figure, tmp_path / "one.png")
    assert axes.get_position().bounds == first


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError, OSError])
def test_a_failed_write_keeps_the_old_file_and_leaves_no_other(tmp_path: Path, problem: type[BaseException]) -> None:
    path = tmp_path / "runs.parquet"
    path.write_text("old")

    def fail_halfway() -> None:
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise problem("stop")

    with pytest.raises((problem, InvalidInput)):
        fail_halfway()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    frame, figure = polars.DataFrame({"a": [1]}), matplotlib.figure.Figure()
    for path in (tmp_path / "file" / "runs.parquet", Path("/proc/none/runs.parquet")):
        with pytest.raises(InvalidInput, match=r"runs\.parquet.* cannot be written"):
            write_parquet(frame, path)
    with pytest.raises(InvalidInput, match=r"picture\.png.* cannot be written"):
        write_figure(figure, tmp_path / "file" / "picture.png")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_bad_outputs_are_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "file").write_text("")
    bad = {"runs.csv": "end in .parquet", "folder.parquet": "folder", "file/runs.parquet": "cannot be written to"}
    for name, message in bad.items():
        with pytest.raises(InvalidInput, match=message):
            check_parquet(tmp_path / name)
    with pytest.raises(InvalidInput, match="cannot be written to"):
        check_folder(tmp_path / "file")
    check_parquet(tmp_path / "new" / "deep" / "runs.parquet")
    check_parquet(Path("runs.parquet"))
    check_folder(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {"folder.parquet", "file"}
