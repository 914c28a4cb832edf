"""What trials leave on the device, on its way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushprice.simulation import tally
from hushprice.simulation.gpu import trial_outputs
from hushprice.simulation.gpu.session import Workspace


class HostCopies(Workspace):
    """A workspace without a device."""

    def __init__(self) -> None:
        self.stream = 0

    def synchronize(self) -> None:
        """There is nothing to wait for."""


def test_what_travels_back_lies_in_the_array_made_for_it() -> None:
    class OnDevice(np.ndarray[Any, Any]):
        def copy_to_host(self, target: Any, stream: Any) -> Any:
            if target is None:
                return np.array(self)
            np.copyto(target, self)
            return target

    regret_at = np.arange(12.0).reshape(4, 3).view(OnDevice)
    totals, periods = np.ones((4, tally.TOTALS)).view(OnDevice), np.ones((5, 4)).view(OnDevice)
    outputs, workspace = trial_outputs.TrialOutputs(None, regret_at, totals, periods, None), HostCopies()
    target = trial_outputs.host_target(outputs, 2)
    assert trial_outputs.collect(outputs, workspace, 2, target).regret_at is target
    without = trial_outputs.collect(outputs, workspace, 2).regret_at
    assert target.tolist() == without.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
