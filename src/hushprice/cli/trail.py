"""hushprice trail: who did what by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli.keys import opened_store
from hushprice.cli.serve import Config, Store


def trail(
    *,
    certificate: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Check that nothing was changed before this certificate; may be repeated."),
    ] = None,
    store: Store = None,
    config: Config = None,
) -> None:
    """List who created, froze, resumed or forgot, and who changed rules or keys; one line each, oldest first.

    Every certificate signs a digest of what was listed until then. With --certificate the list is compared with it.

    Examples:

    \b
      hushprice trail --store shop.db
      hushprice trail --certificate umbrella.json
    """
    with opened_store(store, config) as opened:
        from hushprice.service.shared import trail_lines

        for line in trail_lines.lines(opened.trail(), certificate or []):
            typer.echo(line)
