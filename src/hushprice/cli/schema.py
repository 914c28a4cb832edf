"""hushprice schema: a product file proposed from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hushprice.cli import options
from hushprice.errors import InvalidInput

_NONE = "its name is guessed; the empty text says that there is none"


def schema(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A .csv or .parquet file, a folder, or a database's URL.")],
    *,
    price: Annotated[str | None, typer.Option(metavar="COLUMN", help="The price shown.")] = None,
    outcome: Annotated[str | None, typer.Option(metavar="COLUMN", help="Bought or not, or how many.")] = None,
    customer: Annotated[str | None, typer.Option(metavar="COLUMN", help=f"Whose row it is; {_NONE}.")] = None,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help=f"When it was; {_NONE}.")] = None,
    bounds: Annotated[list[str] | None, options.many("NAME=LOW:HIGH", "Declare a number's bounds; repeat.")] = None,
    levels: Annotated[list[str] | None, options.many("NAME=A,B,C", "Declare a category's levels; repeat.")] = None,
    leave_out: Annotated[list[str] | None, options.many("NAME", "A column that is no attribute; repeat.")] = None,
    prices: Annotated[
        str | None, typer.Option(metavar="FLOOR:TODAY:CEILING", help="Declare prices, rather than ask the log.")
    ] = None,
    conversion: Annotated[
        float | None, typer.Option(parser=options.number, metavar="C", help="Declare how many a visitor buys.")
    ] = None,
    most: Annotated[
        float | None, typer.Option(parser=options.number, metavar="Q", help="Declare how many one may buy.")
    ] = None,
    epsilon: Annotated[
        float, typer.Option(parser=options.number, metavar="E", help="Budget of all that is asked.")
    ] = 0.1,
    delta: Annotated[float, typer.Option(parser=options.number, metavar="X", help="Its delta.")] = 1e-9,
    most_rows: Annotated[
        int, typer.Option(parser=options.count, metavar="M", help="Rows of a customer that are counted, at most.")
    ] = 1,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there, rather than print it.")] = None,
) -> None:
    """Propose a product file from a log, and say what each line cost.

    Names and types of columns are read as they are. Bounds, levels, prices and conversion are declared, or bought by
    noisy counts within --epsilon: never read off the rows. With a customer column one customer's rows are protected,
    else one row.

    Examples:

    \b
      hushprice schema visits.parquet --output product.toml
      hushprice schema visits.csv --bounds age=18:98 --levels region=south,north --customer customer_id
    """
    from hushprice.cli import show
    from hushprice.logs.proposal_text import cost_of, text_of
    from hushprice.logs.propose import propose
    from hushprice.logs.schema_plan import Declared
    from hushprice.simulation.atomic_file import check_folder, whole_file

    if output is not None:
        check_folder(output.parent)
    given = {"price": price, "outcome": outcome, "customer": customer, "time": time}
    declared = Declared(
        roles={role: name for role, name in given.items() if name is not None},
        bounds={name: _numbers("bounds", text, 2) for name, text in _named("bounds", bounds)},
        levels={name: tuple(text.split(",")) for name, text in _named("levels", levels)},
        leave_out=leave_out or (),
        prices=None if prices is None else _numbers("prices", prices, 3),
        conversion=conversion,
        most=most,
    )
    proposal = propose(log, declared=declared, epsilon=epsilon, delta=delta, most_rows=most_rows)
    text = text_of(proposal)
    show.note(cost_of(proposal))
    if output is None:
        typer.echo(text, nl=False)
    else:
        with whole_file(output) as temporary:
            temporary.write_text(text)
        typer.echo(f"wrote {output}")


def _named(option: str, given: list[str] | None) -> list[tuple[str, str]]:
    pairs = [each.rpartition("=")[::2] for each in given or ()]
    for (name, _), each in zip(pairs, given or (), strict=True):
        if not name:
            raise InvalidInput(f"{option} must be NAME=..., got {each!r}")
    return pairs


def _numbers(option: str, text: str, count: int) -> Any:
    parts = text.split(":")
    try:
        numbers = tuple(float(each) for each in parts)
    except ValueError:
        numbers = ()
    if len(numbers) != count:
        raise InvalidInput(f"{option} must be {count} numbers with colons between, got {text!r}")
    return numbers
