"""hushprice serve: the pricing service."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hushprice.service.shared.config import ServiceSettings

Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings (TOML).")]
Store = Annotated[
    str | None,
    typer.Option("--store", metavar="WHERE", help="A file, or postgresql://...  [default: hushprice.db]"),
]


def serve(
    *,
    config: Config = None,
    store: Store = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(metavar="N", help="Public port.  [default: 8787]")] = None,
    operator_host: Annotated[
        str | None, typer.Option(help="Address for the operator's port.  [default: 127.0.0.1]")
    ] = None,
    operator_port: Annotated[
        int | None, typer.Option(metavar="N", help="Port for raw figures, admin key only.  [default: 8788]")
    ] = None,
    role: Annotated[
        str | None, typer.Option(metavar="ROLE", help="all, or one side: quoter or learner.  [default: all]")
    ] = None,
    durable: Annotated[
        bool | None,
        typer.Option("--durable/--in-memory", help="Answer a quote after it is stored.  [default: durable]"),
    ] = None,
    log_format: Annotated[str | None, typer.Option(metavar="FORMAT", help="text or json.  [default: text]")] = None,
    accept_lost_notes: Annotated[
        bool,
        typer.Option(
            "--accept-lost-notes",
            help="Start though the note of releases used is lost: the certificate says so, with a larger epsilon.",
        ),
    ] = False,
    init: Annotated[bool, typer.Option("--init", help="Prepare a PostgreSQL database, and end.")] = False,
) -> None:
    """Run the pricing service: quotes out, outcomes back, and a page at its address.

    The first start makes the store and a file with keys for the admin, the shop and the auditor. Settings come from
    --config, then HUSHPRICE_* variables (HUSHPRICE_PORT, HUSHPRICE_QUOTES_DURABLE, ...), then the options here.

    Examples:

    \b
      hushprice serve
      hushprice serve --config shop.toml --port 9000
      hushprice serve --store postgresql://localhost/prices --init
      hushprice serve --store postgresql://localhost/prices --role quoter
    """
    import functools
    import os

    from hushprice import extras

    flags = {
        "store": store,
        "host": host,
        "port": port,
        "operator_host": operator_host,
        "operator_port": operator_port,
        "role": role,
        "quotes.durable": durable,
        "log_format": log_format,
    }
    with extras.needed():
        from hushprice.service.shared import config as configuration
        from hushprice.service.shared.interpreter import check_interpreter

        check_interpreter()
        settings = configuration.read(config, os.environ, flags)
        start = functools.partial(_start, settings, init=init, accept_lost_notes=accept_lost_notes)
        if settings.log_format == "text":
            start(_say)
        else:
            _start_in_json(start)


def _start(settings: ServiceSettings, say: Callable[[str], None], *, init: bool, accept_lost_notes: bool) -> None:
    from hushprice.errors import InvalidInput
    from hushprice.service.shared import logs, service_links

    logs.set_up(settings.log_format, "learner" if settings.role == "learner" else "quoter")
    service_links.say_ignored(say)
    if settings.role != "all" and not settings.postgres:
        raise InvalidInput(f"role {settings.role} needs a PostgreSQL store; one SQLite file is for role all")
    if init:
        from hushprice.service.shared.setup import prepare_database

        prepare_database(settings, say)
    elif settings.role == "learner":
        from hushprice.service.learning.learner_main import run as learn

        learn(settings, say, accept_lost_notes=accept_lost_notes)
    else:
        from hushprice.service.quoting.quoter_main import run

        run(settings, say, accept_lost_notes=accept_lost_notes)


def _start_in_json(start: Callable[[Callable[[str], None]], None]) -> None:
    """Start it with what is said at the start, and why it ended, as lines of the log too."""
    import logging

    from hushprice.errors import HushpriceError, InvalidInput

    log = logging.getLogger("hushprice.service")
    try:
        start(log.info)
    except HushpriceError as problem:
        log.error("%s", problem)
        raise typer.Exit(2 if isinstance(problem, InvalidInput) else 1) from None


def _say(line: str) -> None:
    typer.echo(f"hushprice: {line}", err=True)
