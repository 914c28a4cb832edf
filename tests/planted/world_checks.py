"""Leaks past the releases, and the check that plays two worlds through HTTP and looks at what can be seen."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

from tests.planted.planting import changed, together
from tests.service.http.two_worlds import ONE, OTHER, SameReleases, different, play

from hushprice.service.http import metrics
from hushprice.service.http.routes import outcomes
from hushprice.service.quoting.writer import Writer

_bought: list[float] = []


def _counted(real: Any) -> Any:
    def outcome(quote: str, key: str, demand: float) -> Any:
        _bought.append(demand)
        return real(quote, key, demand)

    _bought.clear()
    return outcome


def _logged(real: Any) -> Any:
    async def outcome(self: Writer, told: Any) -> Any:
        logging.getLogger("hushprice.service").warning("sold" if told.demand > 0.0 else "not sold")
        return await real(self, told)

    return outcome


purchases_in_the_metrics = together(
    changed(outcomes, "NewOutcome", _counted),
    changed(metrics, "render", lambda real: lambda *given, **named: f"{real(*given, **named)}sold {sum(_bought)}\n"),
)
purchases_in_the_log = changed(Writer, "outcome", _logged)


def everybody_sees_the_same_in_both_worlds() -> None:
    """With the same releases: one who has no key sees no difference, nor does one who reads the log."""
    seen, releases = [], SameReleases()
    for record in (ONE, OTHER):
        _bought.clear()
        with tempfile.TemporaryDirectory() as folder, releases.world():
            seen.append(play(Path(folder, "world"), record, viewers=("admin",))[0])
    assert different(*seen) == []
