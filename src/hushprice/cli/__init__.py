"""The command line: one thin file a verb. Nothing heavy is imported until a verb runs."""

from __future__ import annotations

import sys
from typing import NoReturn

import typer

from hushprice.cli.aggregator import aggregator
from hushprice.cli.attack import attack
from hushprice.cli.audit import audit
from hushprice.cli.certificate import certificate, verify
from hushprice.cli.check import check
from hushprice.cli.compare import compare
from hushprice.cli.compile_code import compile_code
from hushprice.cli.evaluate import evaluate
from hushprice.cli.fit import fit
from hushprice.cli.keys import keys
from hushprice.cli.plan import plan
from hushprice.cli.privacy import privacy
from hushprice.cli.reproduce import reproduce
from hushprice.cli.schema import schema
from hushprice.cli.serve import serve
from hushprice.cli.simulate import simulate
from hushprice.cli.store import backup, restore, store
from hushprice.cli.sweep import sweep
from hushprice.cli.theory import theory
from hushprice.cli.trail import trail

app = typer.Typer(
    name="hushprice",
    help="Personal prices that learn demand, while a privacy budget bounds what later prices reveal about a customer.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(simulate)
app.command()(compare)
app.command()(attack)
app.command()(audit)
app.command()(plan)
app.command()(fit)
app.command()(privacy)
app.command()(certificate)
app.command()(verify)
app.command()(evaluate)
app.command()(sweep)
app.command()(theory)
app.command()(reproduce)
app.command()(schema)
app.command()(serve)
app.command()(aggregator)
app.command(name="compile")(compile_code)
app.command()(trail)
app.command()(check)
app.command(hidden=True)(backup)  # as in `hushprice store`, whose help names them
app.command(hidden=True)(restore)
app.add_typer(keys, name="keys")
app.add_typer(store, name="store")

_INTERRUPTED = 130  # what typer makes of Ctrl-C


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: bool = typer.Option(False, "--version", help="Show the version and exit.")
) -> None:
    if version:
        from hushprice import __version__

        typer.echo(f"hushprice {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run a verb; bad input is one line on stderr and exit code 2, anything else 1."""
    from hushprice.errors import HushpriceError, InvalidInput, NotAvailable

    try:
        code = app(standalone_mode=False)
    except (typer.TyperException, InvalidInput, NotAvailable) as problem:
        _fail(problem, 2)
    except HushpriceError as problem:
        _fail(problem, 1)
    except MemoryError:
        _fail("not enough memory: lower --horizon or --workers", 1)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        _fail("interrupted; nothing was written", 1)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(problem: Exception | str, code: int) -> NoReturn:
    message = problem.format_message() if isinstance(problem, typer.TyperException) else str(problem)
    sys.stderr.write(f"hushprice: {' '.join(message.split())}\n")
    sys.exit(code)
