"""Where trials run: what is chosen, what is refused, and that nothing of CUDA is loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hushprice.demand.families import Logistic
from hushprice.demand.features import by_name
from hushprice.errors import InvalidInput, NotAvailable
from hushprice.simulation.changed_record import GivenCustomer
from hushprice.simulation.device import CPU, choose, unfit
from hushprice.simulation.gpu import device_facts
from hushprice.simulation.market import Market
from hushprice.simulation.run import prepare, run, simulate

SMALL: dict[str, Any] = {"policy": "random", "horizon": 20}
BARE = Market(demand=Logistic(), features=by_name("intercept", 0), theta=np.array([0.1, 0.9]))
WRONG = "no GPU can be used: the driver is on holiday"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], None]:
    """gpu(trouble): a machine whose GPU has that trouble, or none."""

    def chosen(trouble: str | None) -> None:
        monkeypatch.setattr(device_facts, "trouble", lambda: trouble)
        monkeypatch.setattr(device_facts, "name", lambda: "a fine GPU")
        monkeypatch.setattr(device_facts, "library", lambda: "numba-cuda 9")

    return chosen


class Half:
    """A policy of one's own."""

    def __init__(self, setting: object) -> None:
        pass

    def price(self, context: object) -> float:
        return 0.5

    def learn(self, *record: object) -> None:
        pass


def test_the_cpu_is_the_reference_and_adds_nothing_to_a_key() -> None:
    assert choose("cpu") is CPU
    assert CPU.content == {}


def test_without_a_gpu_one_line_says_why(gpu: Callable[[str | None], None]) -> None:
    gpu(WRONG)
    with pytest.raises(NotAvailable, match="on holiday"):
        simulate(**SMALL, trials=1, device="gpu")
    chosen = choose("auto", "single")
    assert (chosen.device, chosen.precision, chosen.content) == ("cpu", "double", {})
    assert chosen.note == f"{WRONG}; running on the CPU, in double precision"
    assert simulate(**SMALL, trials=1, device="auto").device == "cpu"


def test_auto_takes_a_gpu_that_can_run_the_jobs(gpu: Callable[[str | None], None]) -> None:
    gpu(None)
    job, own = prepare(**SMALL), prepare(Half, horizon=20)
    chosen = choose("auto", "single", [job])
    assert chosen.content == {"device": "gpu", "precision": "single", "library": "numba-cuda 9"}
    assert chosen.note == "running on a fine GPU, in single precision"
    assert choose("gpu", jobs=[job]).note == ""
    assert choose("auto", jobs=[job, own]).note.startswith("device 'gpu' takes built-in policies")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"keep_prices": True}, "keeps no prices"),
        ({"market": BARE}, "at least one attribute"),
        ({"change": GivenCustomer(period=3, demand=1.0)}, "takes no changed record"),
        ({"policy": Half}, "takes built-in policies, demand and features only"),
        ({"engine": "python"}, "takes built-in policies, demand and features only"),
    ],
)
def test_what_a_gpu_cannot_run_is_refused_in_one_line(
    gpu: Callable[[str | None], None], setting: dict[str, Any], message: str
) -> None:
    gpu(None)
    job = prepare(**{**SMALL, **setting})
    assert message in str(unfit(job))
    assert "\n" not in str(unfit(job))
    with pytest.raises(InvalidInput, match=message):
        run(job, trials=1, device="gpu")


@pytest.mark.parametrize(
    ("device", "precision", "message"),
    [
        ("tpu", "double", "device must be one of cpu, gpu, auto, got 'tpu'"),
        ("cpu", "half", "precision must be one of double, single, got 'half'"),
        ("cpu", "single", "precision must be double on the CPU, got 'single'"),
    ],
)
def test_a_bad_name_is_refused(device: str, precision: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        choose(device, precision)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert device_facts.trouble() == "device 'gpu' needs the extra 'gpu': pip install 'hushprice[gpu]'"


def test_a_broken_driver_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def is_available(self) -> bool:
            return False

        def cuda_error(self) -> str:
            return "\nCUDA driver library cannot be found.\nIf you are sure\n"

        def current_context(self) -> None:
            raise RuntimeError("driver too old\nsee the manual")

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(device_facts, "_cuda", Broken)
    assert device_facts.trouble() == "no GPU can be used: CUDA driver library cannot be found."
    monkeypatch.setattr(Broken, "is_available", lambda self: True)
    assert device_facts.trouble() == "no GPU can be used: driver too old"


@pytest.mark.parametrize("blocked", [(), ("polars", "opendp", "cryptography", "matplotlib")])
def test_a_simulation_loads_nothing_of_cuda(blocked: tuple[str, ...]) -> None:
    """Nor anything that only files, live noise and signatures need: a machine with a GPU may lack these."""
    code = f"""
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import hushprice
hushprice.simulate("random", horizon=10, trials=1)
import hushprice.research.sweeps.run, hushprice.cli
loaded = set(sys.modules) - {{"_numba_cuda_redirector"}}  # Python itself loads that where numba-cuda is installed
print([name for name in loaded if "cuda" in name or name.startswith("hushprice.simulation.gpu")])
import hushprice.simulation.gpu.trial_batches, hushprice.research.sweeps.gpu_executor
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
