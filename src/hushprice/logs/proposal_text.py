"""A proposal as a product file: every line says whether it was declared, is exact, or was charged for."""

from __future__ import annotations

import json
from typing import Any

from hushprice.demand.schema import Attribute
from hushprice.logs.propose import Proposal

_WIDTH = 118


def text_of(proposal: Proposal) -> str:
    """TOML that product_file.py reads, once what noise hid is filled in."""
    lines = [*_heading(proposal), "", "[product]"]
    for name, line in proposal.product.items():
        lines.append(_line(f"# {name} =" if line.value is None else f"{name} = {_toml(line.value)}", line.why))
    lines.append("# unit_cost = 0.0  # yours to declare: what a purchase costs you")
    for attribute, why in proposal.attributes:
        lines += ["", "[[product.schema.attributes]]", *_fields(attribute, why)]
    if proposal.left_out:
        lines += ["", "# Columns that are no attribute:"]
        lines += [f"# - {_toml(name)}: {why}"[:_WIDTH] for name, why in proposal.left_out.items()]
    lines += ["", "[log]"]
    for role, column in proposal.plan.roles.items():
        given = column is not None
        none = "exact: no column has a usual name for it, or you said so"
        lines.append(_line(f"{role} = {_toml(column or '')}", "exact: a column's name" if given else none))
    return "\n".join([*lines, ""])


def cost_of(proposal: Proposal) -> str:
    """What the proposal costs whom, in one line."""
    if proposal.ledger is None or proposal.ledger.claimed is None or proposal.ledger.proven is None:
        return "charged: nothing was asked of any row"
    who = f"one customer's rows, at most {proposal.most_rows} counted," if proposal.people else "one row"
    claimed = proposal.ledger.claimed
    return (
        f"charged: epsilon {claimed.epsilon:g} at delta {claimed.delta:g} for {who} replaced by any other "
        f"(proven {proposal.ledger.proven.epsilon:.4g})"
    )


def _heading(proposal: Proposal) -> list[str]:
    plan = proposal.plan
    lines = ["# A proposal: read it over, and correct what you know better.", f"# {cost_of(proposal)}."]
    if proposal.ledger is not None:
        asked = plan.cell_questions + plan.text_questions
        units = "customers" if proposal.people else "rows"
        lines.append(f"# Noisy counts for {asked} questions, noise of deviation {proposal.noise:.4g} in each count.")
        if proposal.sampled > 1:
            lines.append(f"# Of the log's {units}, one in {proposal.sampled} was counted, chosen by no content.")
    lines.append("# exact: names and types of columns and the number of rows, which are taken to be public.")
    return lines


def _fields(attribute: Attribute, why: str) -> list[str]:
    given: dict[str, Any] = {"kind": attribute.kind}
    given |= {name: getattr(attribute, name) for name in attribute.__dataclass_fields__}
    return [
        _line(f"{name} = {_toml(value)}", "exact: a column's name" if name == "name" else why)
        for name, value in given.items()
        if value is not False
    ]


def _line(code: str, why: str) -> str:
    return f"{code}  # {why}"


def _toml(value: Any) -> str:
    """Texts, numbers and lists of them, as TOML writes them: JSON's way, but for characters beyond 16 bits."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
