"""hushprice keys: who may use the service."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hushprice.cli.serve import Config, Store

_HELP = """Add, list and remove API keys of the service.

Examples:

\b
  hushprice keys add --role shop --name web-shop
  hushprice keys list
"""

keys = typer.Typer(help=_HELP, rich_markup_mode=None, no_args_is_help=True)


@keys.command()
def add(
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="What to call the key, such as web-shop.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="shop, auditor or admin.")] = "shop",
    store: Store = None,
    config: Config = None,
) -> None:
    """Make a key and print it, once: the store keeps only its digest.

    Examples:

    \b
      hushprice keys add --role shop --name web-shop
    """
    from hushprice.service.shared import key_changes

    with _opened(store, config) as opened:
        typer.echo(key_changes.add(opened, name, role).reveal())


@keys.command(name="list")
def list_keys(*, store: Store = None, config: Config = None) -> None:
    """List names and roles.

    Examples:

    \b
      hushprice keys list --store shop.db
    """
    with _opened(store, config) as opened:
        for key in opened.api_keys():
            typer.echo(f"{key.role}\t{key.name}")


@keys.command()
def remove(
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="The key's name.")],
    store: Store = None,
    config: Config = None,
) -> None:
    """Remove a key; within a second nobody can use it any more.

    Examples:

    \b
      hushprice keys remove --name web-shop
    """
    from hushprice.service.shared import key_changes

    with _opened(store, config) as opened:
        key_changes.remove(opened, name)


def _opened(store: str | None, config: Any) -> Any:
    import os

    from hushprice import extras
    from hushprice.service.shared import config as configuration

    with extras.needed():
        from hushprice.service.shared import setup

        return setup.opened(configuration.read(config, os.environ, {"store": store}))
