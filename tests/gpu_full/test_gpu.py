"""The full agreement suite, on a real GPU: `make test-gpu`. Skipped, with the reason, where there is none.

It needs neither the other tests' plugins nor their libraries: where pytest is missing, run this file as a program.

In double precision, trials agree with the CPU: the same periods of releases, regret to 1e-9. In single precision a
trial may take another turn, so distributions are compared: a right one fails with probability 1e-3 (once, when the seed
is chosen), a planted wrong one must fail by p < 1e-9.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from hushprice.numerics import tape
from hushprice.simulation import tally
from hushprice.simulation.gpu import device

WHY = device.trouble()
try:
    import pytest
except ImportError:  # pragma: no cover
    pytest = None  # type: ignore[assignment]
if pytest is not None and WHY is not None and __name__ != "__main__":
    pytest.skip(WHY, allow_module_level=True)

from scipy import stats  # noqa: E402
from tests.simulation.gpu.agreement import (  # noqa: E402
    CASES,
    compare,
    compare_side_by_side,
    job_of,
    jobs_of_the_framework,
    jobs_of_the_prior,
    on_cpu,
)

from hushprice.simulation.gpu.ahead import compile_ahead  # noqa: E402
from hushprice.simulation.gpu.run import Runner, run_trials  # noqa: E402
from hushprice.simulation.gpu.steps import twins  # noqa: E402
from hushprice.simulation.gpu.toolkit import cuda  # noqa: E402
from hushprice.simulation.run import simulate  # noqa: E402

CALM, ALARM = 1e-3, 1e-9
HORIZON, TRIALS = 5000, 24
SAMPLE = 512
MORE = ("noisy-newton", "paper tight", "noisy-newton, poisson")  # with more attributes too


def idle(done: int) -> None:
    """Nobody watches."""


def check_double(name: str, contexts: int = 1) -> str:
    """One case; says how far apart the two are."""
    found = compare(job_of(name, HORIZON, contexts=contexts, epsilon=4.0), range(7, 7 + TRIALS), "double")
    assert found.same_periods, f"{name}: releases came at other periods"
    assert found.regret <= 1e-9, f"{name}: regret differs by {found.regret:g}"
    assert found.totals <= 1e-9, f"{name}: totals differ by {found.totals:g}"
    return f"{name}, k = {contexts}: {found.estimates} estimates, regret to {found.regret:.1g}"


def samples(name: str, precision: str, first: int, **setting: Any) -> Any:
    """Regret of trials of a case; other numbers are other customers, so samples are independent."""
    job, numbers = job_of(name, 2000, epsilon=4.0, **setting), range(first, first + SAMPLE)
    if precision == "cpu":
        return on_cpu(job, numbers).totals[:, tally.REGRET]
    return run_trials(job, numbers, precision=precision, advance=idle)[0].totals[:, tally.REGRET]


def check_single(name: str) -> str:
    """Single precision has the CPU's distribution, and the test would see one that is off."""
    here, there = samples(name, "cpu", 0), samples(name, "single", SAMPLE)
    right = stats.ks_2samp(here, there).pvalue
    assert right > CALM, f"{name}: distributions differ, p = {right:g}"
    # Planted: a wrong policy, and a shift of a deviation.
    wrong = [
        stats.ks_2samp(here, there + here.std()).pvalue,
        stats.ks_2samp(here, samples("random", "single", 0)).pvalue,
    ]
    assert max(wrong) < ALARM, f"{name}: a planted error was not seen, p = {max(wrong):g}"
    return f"{name}: p = {right:.2f}, planted {max(wrong):.1g}"


def check_same_luck_in_single(name: str) -> str:
    """Trial by trial the same customers with the same luck: most trials end near the CPU's."""
    job = job_of(name, 2000, epsilon=4.0)
    here, (there, _) = on_cpu(job, range(SAMPLE)), run_trials(job, range(SAMPLE), precision="single", advance=idle)
    apart = np.abs(there.totals - here.totals)[:, tally.REGRET] / (1.0 + here.totals[:, tally.REGRET])
    assert np.median(apart) < 1e-3, f"{name}: the median trial is {np.median(apart):g} away"
    return f"{name}: median {np.median(apart):.1g}, largest {apart.max():.1g}"


def check_philox() -> str:
    """Philox in words of 32 bits gives the bits of the CPU's."""
    philox, rng = twins(False)(tape.philox), np.random.default_rng(4)
    words = rng.integers(0, 2**32, (4, 1000), dtype=np.uint64)
    keys = rng.integers(0, 2**63, 1000, dtype=np.uint64)
    words[:, :2], keys[:2] = np.array([[0, 2**32 - 1]] * 4, dtype=np.uint64), [0, 2**64 - 1]

    @cuda.jit
    def fill(keys: Any, words: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < keys.size:
            out[0, i], out[1, i], out[2, i], out[3, i] = philox(
                keys[i], words[0, i], words[1, i], words[2, i], words[3, i]
            )

    out = np.zeros_like(words)
    fill[8, 128](keys, words, out)
    expected = [tape.philox(keys[i], *words[:, i]) for i in range(keys.size)]
    assert out.T.tolist() == [[int(word) for word in each] for each in expected]
    return f"philox: {keys.size} addresses"


def check_batches() -> str:
    """However trials are cut into batches, and rooms used again, they are the same to the last digit."""
    job = job_of("paper published", 800, epsilon=4.0)
    whole = Runner(job, precision="double", most=60).run(range(60), idle)
    runner = Runner(job, precision="double", most=25)
    parts = [runner.run(range(start, min(start + 25, 60)), idle) for start in range(0, 60, 25)]
    assert np.concatenate([part.regret_at for part in parts]).tolist() == whole.regret_at.tolist()
    progress: list[tuple[int, int]] = []
    simulate("noisy-newton", horizon=1000, trials=50, device="gpu", progress=lambda *at: progress.append(at))
    assert progress[-1] == (50_000, 50_000)
    return f"batches: {len(parts)} like one; progress in {len(progress)} steps"


def check_side_by_side() -> str:
    """Jobs that differ by theta and seed, and those of the framework by their noise too, in one batch."""
    found = compare_side_by_side(jobs_of_the_prior(50, 1000), range(3, 13))
    found += compare_side_by_side(jobs_of_the_framework(1000), range(3, 13))
    assert all(each.same_periods for each in found), "releases came at other periods"
    worst = max(max(each.regret, each.totals) for each in found)
    assert worst <= 1e-9, f"regret or totals differ by {worst:g}"
    return f"side by side: {len(found)} jobs of 10 trials, regret and totals to {worst:.1g}"


def compile_everything() -> None:
    """All kernels that the checks need, side by side: one after the other they would take most of the time."""
    double = [job_of(name, HORIZON, epsilon=4.0) for name in CASES]
    double += [job_of(name, HORIZON, contexts=4, epsilon=4.0) for name in MORE]
    double += [job_of("noisy-newton, gaussian", HORIZON, contexts=18, epsilon=4.0), *jobs_of_the_prior(1, HORIZON)]
    double += jobs_of_the_framework(HORIZON)
    compile_ahead(double, precision="double")
    single = ("noisy-newton", "paper tight", "nonprivate", "random", "fixed")
    compile_ahead([job_of(name, 2000, epsilon=4.0) for name in single], precision="single")


CHECKS: dict[str, Any] = {
    **{f"double, {name}": lambda name=name: check_double(name) for name in CASES},
    **{f"double, {name}, more attributes": lambda name=name: check_double(name, 4) for name in MORE},
    "double, d = 20": lambda: check_double("noisy-newton, gaussian", 18),
    **{
        f"single, {name}": lambda name=name: check_single(name)
        for name in ("noisy-newton", "paper tight", "nonprivate")
    },
    **{
        f"luck, {name}": lambda name=name: check_same_luck_in_single(name)
        for name in ("noisy-newton", "random", "fixed")
    },
    "philox": check_philox,
    "batches": check_batches,
    "side by side": check_side_by_side,
}

if pytest is not None:

    @pytest.fixture(scope="module", autouse=True)
    def _compiled() -> None:
        compile_everything()

    @pytest.mark.parametrize("name", CHECKS)
    def test_on_a_gpu(name: str) -> None:
        sys.stdout.write(CHECKS[name]() + "\n")


if __name__ == "__main__":
    if WHY is not None:
        sys.exit(f"skipped: {WHY}")
    compile_everything()
    failed = 0
    for title, check in CHECKS.items():
        try:
            line = f"ok      {check()}"
        except AssertionError as problem:
            failed, line = failed + 1, f"FAILED  {title}: {problem}"
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(CHECKS) - failed} of {len(CHECKS)} passed on {device.name()}\n")
    sys.exit(1 if failed else 0)
