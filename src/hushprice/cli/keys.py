"""hushprice keys: who may use the service."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hushprice.cli.serve import Config, Store

_HELP = """Add, list, change and remove API keys of the service.

Examples:

\b
  hushprice keys add --role shop --name web-shop --expires 2030-01-31 --quota 100000
  hushprice keys list
"""

keys = typer.Typer(help=_HELP, rich_markup_mode=None, no_args_is_help=True)

Name = Annotated[str, typer.Option(metavar="NAME", help="The key's name.")]
Expires = Annotated[
    str | None, typer.Option(metavar="DATE", help="From this day on (UTC) the key is refused; or never.")
]
Products = Annotated[
    list[str] | None,
    typer.Option("--product", metavar="NAME", help="A product it may quote, several times for several; or all."),
]
Quota = Annotated[str | None, typer.Option(metavar="N", help="Quotes a day (UTC), over all quoters; or none.")]


@keys.command()
def add(
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="What to call the key, such as web-shop.")],
    role: Annotated[str, typer.Option(metavar="ROLE", help="shop, auditor or admin.")] = "shop",
    expires: Expires = None,
    product: Products = None,
    quota: Quota = None,
    store: Store = None,
    config: Config = None,
) -> None:
    """Make a key and print it, once: the store keeps only its digest.

    Examples:

    \b
      hushprice keys add --role shop --name web-shop
      hushprice keys add --role auditor --name review-2030 --expires 2030-02-28
    """
    from hushprice.service.shared import key_changes

    limits = key_changes.KeyLimits(expires=expires, products=product, quota=quota)
    with opened_store(store, config, make=True) as opened:
        typer.echo(key_changes.add(opened, name, role, limits, _user()).reveal())


@keys.command(name="list")
def list_keys(*, store: Store = None, config: Config = None) -> None:
    """List keys: role, name, the beginning of the digest, when it expires, when it was last used, and its limits.

    Examples:

    \b
      hushprice keys list --store shop.db
    """
    from hushprice.service.shared.key_lines import key_lines

    with opened_store(store, config) as opened:
        for line in key_lines(opened):
            typer.echo(line)


@keys.command()
def change(
    *,
    name: Name,
    expires: Expires = None,
    product: Products = None,
    quota: Quota = None,
    store: Store = None,
    config: Config = None,
) -> None:
    """Change what a key may do, within a second; what is not given stays.

    Examples:

    \b
      hushprice keys change --name web-shop --quota 50000
      hushprice keys change --name web-shop --expires never --product all
    """
    from hushprice.service.shared import key_changes

    limits = key_changes.KeyLimits(expires=expires, products=product, quota=quota)
    with opened_store(store, config) as opened:
        key_changes.change(opened, name, limits, _user())


@keys.command()
def remove(*, name: Name, store: Store = None, config: Config = None) -> None:
    """Remove a key; within a second nobody can use it any more.

    Examples:

    \b
      hushprice keys remove --name web-shop
    """
    from hushprice.service.shared import key_changes

    with opened_store(store, config) as opened:
        key_changes.remove(opened, name, _user())


def _user() -> str:
    """Who stands in the trail: the user of the operating system, whom nobody need have a name for."""
    import os

    return f"command line, user {os.getuid()}"


def opened_store(store: str | None, config: Any, *, make: bool = False) -> Any:
    """The store, opened. One that is not there is refused, or, with `make`, made and named: it may be misspelt."""
    import os

    from hushprice import extras
    from hushprice.service.shared import config as configuration

    with extras.needed():
        from hushprice.service.shared import setup

        settings = configuration.read(config, os.environ, {"store": store})
        if not make:
            setup.check_there(settings)
        elif setup.missing(settings):
            typer.echo(f"made a new store, {settings.store.reveal()!r}", err=True)
        return setup.opened(settings)
