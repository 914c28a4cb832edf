"""The map of where private personal prices beat one price: its points, its picture, and that it can be gone on with."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import pytest

from hushprice.research.planner import measured, prior
from hushprice.research.sweeps.executors import Advance, Ended, LocalExecutor
from hushprice.research.sweeps.store import TrialStore
from hushprice.research.sweeps.trial_range import TrialRange
from hushprice.simulation.device import ChosenDevice
from hushprice.simulation.gpu import precompile
from hushprice.simulation.gpu.policy_batches import kernel_names
from hushprice.simulation.trial import Job

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "map.py"


@pytest.fixture(scope="module")
def page() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("benchmarks_map", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FILE.parent)  # as a script has it
        spec.loader.exec_module(module)
        yield module


@pytest.fixture
def points_of(page: ModuleType) -> ModuleType:
    """What it imports from the file beside it."""
    return sys.modules[page.measure.__module__]


def test_a_point_is_a_mean_over_markets(points_of: ModuleType) -> None:
    regret, single = np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([4.0, 4.0])
    found = points_of.point(points_of.Spot("prior", 2, 10, 0.5), regret, single)
    assert (found.regret, found.one_price, found.ratio, found.beats, found.trials) == (4.0, 4.0, 1.0, 0.5, 4)
    assert found.error == pytest.approx(np.sqrt(2.0 / 4))  # within markets; which markets there are is public


def test_markets_without_anything_to_gain_can_be_left_out(points_of: ModuleType) -> None:
    markets, gains = points_of.markets_with(2, 2, 1e-4)
    assert len(markets) == 2
    assert gains.min() >= 1e-4
    assert points_of.markets_with(2, 1, 1.0) is None


def test_without_that_wish_they_are_the_planners_own(points_of: ModuleType) -> None:
    markets, _ = points_of.markets_with(3, prior.VECTORS, 0.0)
    assert [each.theta.tolist() for each in markets] == [each.theta.tolist() for each in prior.markets(2)]


def test_kinds_measured_together_are_what_each_is_alone(points_of: ModuleType) -> None:
    kinds = {
        "prior": points_of.Kind("all", 2, 3),
        "same": points_of.Kind("as many", 2, 5),
        "gain": points_of.Kind("some", 1, 2, 1e-4),
    }
    grid = [300, 200], [1.0, 5.0], [2, 3]
    alone = [point for name, kind in kinds.items() for point in points_of.measure({name: kind}, *grid, store=None)]
    assert points_of.measure(kinds, *grid, store=None) == alone
    assert [(each.kind, each.dimension, each.horizon, each.epsilon) for each in alone] == [
        (name, d, T, epsilon) for name in kinds for d in (2, 3) for T in (300, 200) for epsilon in (1.0, 5.0)
    ]


def test_the_kernels_compiled_while_markets_are_drawn_are_all_that_a_gpu_needs(
    points_of: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(
        precompile, "precompile", lambda session, jobs, precision: compiled.extend(names(jobs, precision))
    )
    needed: list[str] = []

    class Stand(LocalExecutor):
        def run(self, pieces: Sequence[TrialRange], advance: Advance) -> Ended:
            needed.extend(names([piece.cell.prepare() for piece in pieces], self.chosen.precision))
            return super().run(pieces, advance)

    def names(jobs: Sequence[Job], precision: str) -> list[str]:
        return [kernel for job in jobs for kernel in kernel_names(job, precision)]

    kinds = {"prior": points_of.Kind("all", 2, 1), "gain": points_of.Kind("some", 1, 1, 1e-4)}
    stand = Stand(2, ChosenDevice(device="gpu", precision="single", library="a stand-in"))
    points_of.measure(kinds, [300, 200], [1.0, 5.0], [2, 3], store=None, executor=stand)
    assert len(compiled) == 6  # of either dimension
    assert set(compiled) == set(needed)


def test_where_they_are_too_rare_the_map_says_so_and_goes_on(
    page: ModuleType, points_of: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(points_of, "MOST_DRAWN", 20)
    kind = points_of.Kind("some", 1, 2, 1e-3)
    points = points_of.measure({"gain": kind}, [300], [1.0], [10, 2], store=None)
    assert [each.dimension for each in points] == [2]
    assert "fewer than 1 of 20 markets at d = 10 have 0.001 to gain: left out" in capsys.readouterr().out
    other = dataclasses.replace(points[0], kind="prior", dimension=10)
    panels = page.draw([*points, other, dataclasses.replace(other, dimension=2)], {"prior": "all", "gain": "some"}).axes
    assert [[text.get_text() for text in axes.texts] for axes in panels][3] == ["too few such markets"]


def test_the_picture_has_room_for_its_numbers_and_a_scale_in_ratios(page: ModuleType, points_of: ModuleType) -> None:
    spots = {5e-3: 10_000, 0.234: 100_000, 16.4: 1_000_000, 4e6: 3_000_000}
    points = [
        points_of.point(points_of.Spot("prior", 2, T, 1.0), np.array([[ratio]]), np.array([1.0]))
        for ratio, T in spots.items()
    ]
    panel, bar = page.draw(points, {"prior": "all"}).axes
    assert [text.get_text() for text in panel.texts] == ["0.005", "0.23", "16", "> 999"]
    assert [text.get_color() for text in panel.texts] == ["white", "black", "white", "white"]
    assert [text.get_text() for text in bar.get_yticklabels()][4:7] == ["1/2", "1", "2"]


def test_a_second_run_reads_what_the_first_one_left(
    page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--horizon", "300", "--epsilon", "1", "--epsilon", "5", "--dimension", "2", "--dimension", "3"]
    command = ["map.py", "--output", str(tmp_path), "--markets", "2", "--trials", "2", *small]
    monkeypatch.setattr(sys, "argv", command)
    page.main()
    first = json.loads((tmp_path / "map.json").read_text())
    asked = {(kind, d, epsilon) for kind in ("prior", "gain") for d in (2, 3) for epsilon in (1, 5)}
    assert {(each["kind"], each["dimension"], each["epsilon"]) for each in first["points"]} == asked
    assert first["command"] == " ".join(["python benchmarks/map.py --output map", *command[3:]])
    own = msgspec.json.decode((tmp_path / "measured.json").read_bytes(), type=measured.MeasuredMap)
    assert own.setting.vectors == 2  # so that no plan would take it for its own
    assert [each.regret for each in own.points] == [
        each["regret"] for each in first["points"] if each["kind"] == "prior"
    ]
    assert (tmp_path / "map.png").stat().st_size > 10_000
    kept = sorted((tmp_path / "store").rglob("*"))
    page.main()
    assert json.loads((tmp_path / "map.json").read_text())["points"] == first["points"]
    assert sorted((tmp_path / "store").rglob("*")) == kept
    assert TrialStore(tmp_path / "store")
    assert "8 points" in capsys.readouterr().out


def test_a_map_is_put_into_the_package_and_the_pages(
    page: ModuleType, points_of: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = points_of.point(points_of.Spot("prior", 2, 10, 0.5), np.array([[1.0, 3.0]]), np.array([4.0]))
    report = {
        **dict.fromkeys(("command", "device", "precision", "version"), "this"),
        "kinds": {"prior": {"markets": 50}},
        "points": [{**dataclasses.asdict(found), "ratio": found.ratio}],
    }
    (tmp_path / "map.json").write_text(json.dumps(report))
    for folder in ("src/hushprice/research/planner", "docs/images"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setattr(page, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["map.py", "--output", str(tmp_path), "--install"])
    page.main()
    (own,) = msgspec.json.decode(
        (tmp_path / "src/hushprice/research/planner/measured.json").read_bytes(), type=measured.MeasuredMap
    ).points
    assert (own.customers, own.regret, own.one_price, own.trials) == (10, 2.0, 4.0, 2)
    assert (tmp_path / "docs/images/map.png").stat().st_size > 5_000
