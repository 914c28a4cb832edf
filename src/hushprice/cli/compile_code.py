"""hushprice compile: compiled code before it is needed."""

from __future__ import annotations

import typer


def compile_code() -> None:
    """Compile what the service runs, and say where it is kept.

    For an image of a container: a service that finds compiled code there answers at once. It is kept in
    $XDG_CACHE_HOME/hushprice or ~/.cache/hushprice, and made for this kind of processor.

    Examples:

    \b
      hushprice compile
      XDG_CACHE_HOME=/var/cache hushprice compile
    """
    from hushprice import extras
    from hushprice.numerics import jit

    with extras.needed():
        from hushprice.service.learning.precompile_learner import precompile_learner
        from hushprice.service.quoting.precompile import precompile
        from hushprice.service.shared.interpreter import check_interpreter

        check_interpreter()
        precompile()
        precompile_learner()
    typer.echo(jit.FOLDER)
