"""hushprice aggregator: one of two that add up what customers' devices send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def aggregator(
    *,
    promises: Annotated[
        Path,
        typer.Option(metavar="FILE", help="What is promised of each product (TOML)."),
    ],
    store: Annotated[Path, typer.Option(metavar="FILE", help="Where shares wait; its key lies beside it.")] = Path(
        "aggregator.db"
    ),
    state_dir: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where it is noted what was published; no backup may set both back."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port.")] = 8790,
    retention_days: Annotated[
        int, typer.Option(metavar="DAYS", min=1, max=36500, help="A share that is in no total is deleted after these.")
    ] = 400,
) -> None:
    """Run one of the two aggregators of trust aggregated, for a shop that is somebody else's.

    It adds up the shares of a batch that reached both, adds all of the noise that the promise asks for, and publishes
    the total once. The promise is read from FILE, never from the shop: a table a product, with its epsilon, delta,
    contexts, least and most.

    Examples:

    \b
      hushprice aggregator --promises promises.toml
      hushprice aggregator --promises promises.toml --store /var/lib/one.db --port 8791
    """
    from hushprice import extras

    with extras.needed():
        from hushprice.service.aggregating.aggregator_main import run

        run(
            promises=promises,
            store=store,
            state_dir=state_dir,
            host=host,
            port=port,
            say=_say,
            kept=retention_days,
        )


def _say(line: str) -> None:
    typer.echo(f"hushprice: {line}", err=True)
