"""hushprice theory: what the paper proves or says, against numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hushprice.cli import options


def theory(
    name: Annotated[list[str] | None, typer.Argument(metavar="name", help="Checks to run; none means all.")] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes: under a minute for all checks.")] = False,
    seed: options.Seed = 0,
    workers: options.Workers = None,
    device: options.Device = "cpu",
    precision: options.Precision = "double",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write findings.json and a picture of each growth rate there."),
    ] = None,
    format: options.Printed = options.Format.table,
) -> None:
    """Check the paper's lemmas, bounds, rates and statements on simulated markets.

    With --device gpu the growth rates and regret bounds are measured on a GPU. Checks that need every price, or time a
    period, stay on the CPU.

    Examples:

    \b
      hushprice theory --quick
      hushprice theory growth-in-horizon consumer-surplus --output theory
    """
    from hushprice.cli import show, show_theory
    from hushprice.research.theory import registry
    from hushprice.research.theory.finding import CheckSize
    from hushprice.research.theory.output import write_findings
    from hushprice.simulation.device import choose

    options.check_output(output, "matplotlib")
    names, chosen = registry.chosen(name or []), choose(device, precision)
    size = CheckSize(quick=quick, seed=seed, workers=workers, device=chosen.device, precision=chosen.precision)
    show.note(chosen.note)
    findings = []
    for finding in registry.run(names, size):
        findings.append(finding)
        show_theory.done(finding.name, len(findings), len(names))
    files = [] if output is None else write_findings(findings, output)
    if format is options.Format.json:
        show.json([finding.to_dict() for finding in findings])
    else:
        show_theory.table(findings, detailed=bool(name), files=files)
