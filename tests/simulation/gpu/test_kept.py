"""What trials leave on the device, on its way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushprice.simulation import tally
from hushprice.simulation.gpu import kept


def test_what_travels_back_lies_in_the_room_made_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnDevice(np.ndarray[Any, Any]):
        def copy_to_host(self, place: Any, stream: Any) -> Any:
            if place is None:
                return np.array(self)
            np.copyto(place, self)
            return place

    monkeypatch.setattr(kept, "stream", lambda: 0)
    monkeypatch.setattr(kept, "wait", lambda: None)
    regret_at = np.arange(12.0).reshape(4, 3).view(OnDevice)
    rooms = kept.Kept(None, regret_at, np.ones((4, tally.TOTALS)).view(OnDevice), np.ones((5, 4)).view(OnDevice), None)
    place = kept.place_for(rooms, 2)
    assert kept.take(rooms, 2, place).regret_at is place
    assert place.tolist() == kept.take(rooms, 2).regret_at.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
