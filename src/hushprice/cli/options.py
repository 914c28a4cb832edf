"""Options that verbs share, each with its help text in one place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Format(StrEnum):
    """How a result is printed."""

    table = "table"
    json = "json"


def count(text: str | int) -> int:
    """A whole number; 1e5 is fine. (A default arrives as a number already.)"""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
        if value == int(value):
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"{text!r} is not a whole number")


def number(text: str | float) -> float:
    """A number; the message of a bad one names it."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def numbers(text: str | float | tuple[float, ...]) -> tuple[float, ...]:
    """Numbers with commas between them."""
    if isinstance(text, tuple):
        return text
    return tuple(number(each) for each in str(text).split(","))


def was_given(context: typer.Context, name: str) -> bool:
    """Is this option on the command line?"""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def many(metavar: str, help: str, parser: Callable[[str], Any] | None = None) -> Any:
    """An option that may be repeated."""
    return typer.Option(metavar=metavar, help=help, parser=parser)


def look_here(policies: Sequence[str]) -> None:
    """Let a policy given as module:Class live in the current folder, which a console script does not search."""
    here = str(Path.cwd())
    if any(":" in policy for policy in policies) and here not in sys.path:
        sys.path.append(here)


def settings(context: typer.Context) -> dict[str, Any]:
    """What `prepare` is to be given, of a verb's options; the market is read from its file."""
    from hushprice.settings import Settings
    from hushprice.simulation.market_file import load_market

    file = context.params["market"]
    names = ("horizon", "dimension", "seed", *Settings.__annotations__)
    given = {name: context.params[name] for name in names if name in context.params}
    return {**given, "market": None if file is None else load_market(file)}


def watching(context: typer.Context) -> dict[str, Any]:
    """What `watch_policies` is to be given, of a verb's options; an option that was left out keeps its default."""
    given = {"watchers": context.params["watcher"], "stories": context.params["story"]}
    names = ("period", "others", "runs", "confidence", "workers")
    return {name: value for name, value in given.items() if value} | {
        **{name: context.params[name] for name in names},
        **settings(context),
    }


def check_output(folder: Path | None, *packages: str) -> None:
    """Where an output folder is given, refuse one that cannot be written to, and packages that are not installed."""
    from hushprice import extras
    from hushprice.simulation.atomic_file import check_folder

    if folder is not None:
        extras.require(*packages)
        check_folder(folder)


Horizon = Annotated[int, typer.Option(parser=count, metavar="T", help="Number of customers, such as 100000 or 1e5.")]
Dimension = Annotated[
    int | None,
    typer.Option(parser=count, metavar="D", help="Features of the paper's instance, 2 to 11.  [default: 2]"),
]
Features = Annotated[int | None, typer.Option(parser=count, metavar="D", help="Number of features.  [default: 2]")]
Epsilon = Annotated[
    float | None, typer.Option(parser=number, metavar="E", help="Total epsilon, eps1 + eps2.  [default: 1.0]")
]
Delta = Annotated[str, typer.Option(metavar="X", help="Total delta: a number, or a formula such as 2/T^2.")]
EpsilonCovariance = Annotated[
    float | None, typer.Option(parser=number, metavar="E1", help="eps1 instead of half of --epsilon.")
]
EpsilonEstimate = Annotated[
    float | None, typer.Option(parser=number, metavar="E2", help="eps2 instead of half of --epsilon.")
]
Neighbours = Annotated[
    str, typer.Option("--adjacency", metavar="NAME", help="What one changed record means: replace-one or zero-out.")
]
Trials = Annotated[int, typer.Option(parser=count, metavar="N", help="Independent trials.")]
Seed = Annotated[int, typer.Option(parser=count, metavar="S", help="Trial i depends on (seed, i) alone.")]
Workers = Annotated[int | None, typer.Option(parser=count, metavar="N", help="Threads.  [default: all cores]")]
Executor = Annotated[str, typer.Option(metavar="NAME", help="Where it runs: local or ray.")]
Address = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="A Ray cluster; without it, this machine's.")]
Device = Annotated[
    str,
    typer.Option(metavar="NAME", help="What computes: cpu, gpu, or auto, which takes a GPU where there is one."),
]
Precision = Annotated[
    str, typer.Option(metavar="NAME", help="double, or single: on a GPU faster, and equal in distribution alone.")
]
Price = Annotated[
    float | None,
    typer.Option(parser=number, metavar="P", help="For policy fixed; without it, the best fixed price in hindsight."),
]
MarketFile = Annotated[
    Path | None, typer.Option("--market", metavar="FILE", help="A market file (TOML) instead of the paper's instance.")
]
Exploration = Annotated[
    int | None, typer.Option("--exploration-periods", parser=count, metavar="T0", help="Random prices at the start.")
]
Ridge = Annotated[float | None, typer.Option(parser=number, metavar="RHO", help="Regularization rho.")]
Width = Annotated[
    float | None, typer.Option(parser=number, metavar="GAMMA", help="Width gamma of the confidence bonus.")
]
MaxEstimates = Annotated[
    int | None, typer.Option("--max-estimates", parser=count, metavar="D_INF", help="Most estimates ever released.")
]
ReferencePrice = Annotated[
    float | None,
    typer.Option(
        "--reference-price", parser=number, metavar="P", help="For noisy-newton: quoted before anything is known."
    ),
]
Trigger = Annotated[
    bool, typer.Option("--trigger/--no-trigger", help="For noisy-newton: may a batch end early when customers change?")
]
Bonus = Annotated[bool, typer.Option("--bonus/--no-bonus", help="For noisy-newton: the confidence bonus.")]
Noise = Annotated[
    bool,
    typer.Option(
        "--noise/--no-noise", help="For noisy-newton, or with a product: without noise nothing is claimed; for study."
    ),
]
Trust = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="For policy cautious, which prices a product: who may see a record. central (the shop), local (nobody), "
        "shuffle, aggregated. Policies of markets have no trust models.",
    ),
]
Printed = Annotated[Format, typer.Option("--format", help="How to print the result.")]
Policies = Annotated[
    list[str] | None,
    typer.Option("--policy", metavar="NAME", help="A policy; repeat for more. paper@printed picks a calibration."),
]
Stories = Annotated[
    list[str] | None,
    typer.Option("--story", metavar="NAME", help="purchase or attribute; repeat for both.  [default: both]"),
]
Watchers = Annotated[
    list[str] | None,
    typer.Option(
        "--watcher",
        metavar="NAME",
        help="Who looks on: prices (every later price) or releases (all that the promise covers, with the worst two "
        "records); repeat for both.  [default: both]",
    ),
]
Period = Annotated[
    int | None,
    typer.Option(parser=count, metavar="t", help="The customer of interest.  [default: the first after exploration]"),
]
Others = Annotated[
    str, typer.Option(metavar="HOW", help="Other customers: known (the same in every run, the worst case) or drawn.")
]
Runs = Annotated[
    int,
    typer.Option(
        parser=count, metavar="N", help="Runs of each of the two worlds. Releases are cheap: up to 30 times as many."
    ),
]
Confidence = Annotated[
    float, typer.Option(parser=number, metavar="C", help="That everything printed holds together, below 1.")
]
