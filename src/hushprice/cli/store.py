"""hushprice store: a store checked, copied, and put back; hushprice check is the first of these."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hushprice.cli.serve import Config, Store

_HELP = """Check, back up and restore the service's store; `hushprice check`, `backup` and `restore` do the same.

Examples:

\b
  hushprice store check --store shop.db
  hushprice store backup shop-backup.db --store shop.db
  hushprice store restore shop-backup.db --store shop.db --replace
"""

store = typer.Typer(help=_HELP, rich_markup_mode=None, no_args_is_help=True)


@store.command()
def check(*, where: Store = None, config: Config = None) -> None:
    """Read a whole store, and say what does not fit together: exit code 1 if anything does not.

    It compares slots with quotes, the ledger with releases, batches with each other, and the store with the note that
    this machine keeps of releases used. The service may run meanwhile.

    Examples:

    \b
      hushprice check --store shop.db
      hushprice store check --store postgresql://owner@db/shop
    """
    with _service() as (care, read):
        found = care.check(read(config, where))
    for line in found:
        typer.echo(line)
    if found:
        raise typer.Exit(1)
    typer.echo("all is well")


@store.command()
def backup(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="The copy, a new file.", show_default=False)],
    *,
    where: Store = None,
    config: Config = None,
) -> None:
    """Copy a store as it is at one moment, while the service runs.

    A copy of a SQLite file is a SQLite file; one of PostgreSQL is a zip file of its tables. It holds raw records: keep
    it as safe as the store. Keys, the signing key and the seen-file are not in it.

    Examples:

    \b
      hushprice store backup shop-2026-11-16.db --store shop.db
      hushprice store backup shop-2026-11-16.zip --store postgresql://owner@db/shop
    """
    with _service() as (care, read):
        care.back_up(read(config, where), to)
    typer.echo(f"wrote {to}")


@store.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A copy that `backup` made.", show_default=False)],
    *,
    where: Store = None,
    config: Config = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put it in the place of a store that is there.")] = False,
    as_copy: Annotated[
        bool, typer.Option("--as-copy", help="The store goes on elsewhere; this becomes one of its own, to try out.")
    ] = False,
) -> None:
    """Put a copy of a store back. Stop the service first, everywhere.

    The seen-file stays as it is: with it the service notices at its next start what the copy lacks, and releases no
    record a second time.

    Examples:

    \b
      hushprice store restore shop-2026-11-16.db --store shop.db --replace
      hushprice store restore shop-2026-11-16.db --store drill.db --as-copy
    """
    with _service() as (care, read):
        care.restore(read(config, where), file, replace=replace, as_copy=as_copy)
    typer.echo("restored; start the service, quoters first")


@store.command()
def moved(*, where: Store = None, config: Config = None) -> None:
    """Say that this store has taken the place of the one that this machine's seen-file is of.

    Examples:

    \b
      hushprice store moved --store postgresql://owner@newdb/shop
    """
    with _service() as (care, read):
        care.moved(read(config, where))


def _service() -> Any:
    import os
    from contextlib import contextmanager

    from hushprice import extras

    @contextmanager
    def loaded() -> Any:
        with extras.needed():
            from hushprice.service.shared import config as configuration
            from hushprice.service.shared import store_care

            yield store_care, lambda file, where: configuration.read(file, os.environ, {"store": where})

    return loaded()
