"""Runs of a simulated shop for people."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hushprice.cli import show
from hushprice.product import Product
from hushprice.research.experiments.tables import TextTable
from hushprice.shops.fitted import Fitted
from hushprice.shops.result import PROMISED, ShopResult
from hushprice.shops.trials import DEFAULT
from hushprice.shops.world import World


def fitted_note(world: World) -> str:
    """What has to be said of demand that was fitted; nothing of any other."""
    if not isinstance(world, Fitted):
        return ""
    rows = world.rows
    up = 100.0 * float((world.responses(rows) < 0.0).mean())
    strange = f"; it rises with the price for {up:.0f} % of them" if up > 0.0 else ""
    return (
        f"demand was fitted to {len(rows):,} customers without privacy, for simulation only: elasticity "
        f"{world.elasticity(rows):.2f} at today's price{strange}"
    )


# Who sees a customer's record, by trust model.
_SEEN = {
    "central": "The shop sees every record.",
    "local": "The shop sees one turned bit of each customer, and the price charged.",
    "shuffle": "The shop sees turned bits in an order that a shuffler drew, and the prices charged.",
    "aggregated": "Nobody sees a record while one of two aggregators is honest; the shop sees the prices charged.",
}


def table(result: ShopResult, product: Product, file: Path | None) -> None:
    """Print what was earned along the way, the worst moment, and what to make of it."""
    runs = "1 run" if result.trials == 1 else f"{result.trials} runs"
    out = show.console()
    out.print(
        f"{result.policy}, today's price {product.reference_price:g}: {result.horizon:,} customers, {runs}, seed "
        f"{result.seed}\n",
        soft_wrap=True,
    )
    view = show.columns(["customers", "earned", "of staying", "worst run"], left=())
    for at in result.to_dict()["checkpoints"]:
        view.add_row(f"{at['customers']:,}", f"{at['earnings']:,.2f}", f"{at['share']:.4f}", f"{at['worst_share']:.4f}")
    out.print(view)
    for line in ("", _worst_moment(result), _conclusion(result, product), _privacy(result)):
        out.print(line, soft_wrap=True)
    rate = result.trials * result.horizon / max(result.seconds, 1e-9)
    out.print(f"{result.seconds:.1f} s, {rate:,.0f} customers/s", soft_wrap=True)
    if file is not None:
        out.print(f"wrote {file}", soft_wrap=True)


def beside(results: list[ShopResult], product: Product) -> None:
    """Print a row a way of pricing: what it earned as a share of staying, its worst moment, what it claims."""
    first = results[0]
    runs = "1 run" if first.trials == 1 else f"{first.trials} runs"
    show.text(f"Today's price {product.reference_price:g}: {first.horizon:,} customers, {runs} each\n")
    rows = []
    for each in results:
        error = "" if each.gain_error is None else f" +- {each.gain_error:.4f}"
        claimed = _privacy(each).split(". ")[0].removeprefix("Privacy claimed: ").rstrip(".")
        trust = each.trust if each.policy == DEFAULT else "-"  # nobody else has trust models
        rows.append([each.policy, trust, f"{each.gain:.4f}{error}", f"{each.worst():.4f}", claimed])
    show.text_table(TextTable(["policy", "trust", "of staying", "worst run", "privacy claimed"], rows))


def _worst_moment(result: ShopResult) -> str:
    counted = np.flatnonzero(result.checkpoints >= min(PROMISED, result.horizon))
    trial, at = np.unravel_index(np.argmin(result.shares[:, counted]), (result.trials, counted.size))
    customers = int(result.checkpoints[counted[at]])
    return f"Worst moment after {PROMISED:,} customers: {result.worst():.4f} of staying, run {trial} at {customers:,}."


def _conclusion(result: ShopResult, product: Product) -> str:
    """One sentence: what was gained or lost, and how surely."""
    gain, error = 100.0 * (result.gain - 1.0), result.gain_error
    known = "(one run)" if error is None else f"(+- {100.0 * error:.2f} %)"
    if error is not None and abs(gain) <= 200.0 * error:
        found = f"earned about what staying at today's price earns: {gain:+.2f} % {known}"
    else:
        found = f"earned {abs(gain):.2f} % {'more' if gain > 0.0 else 'less'} than staying {known}"
    return f"Over {result.horizon:,} customers {result.policy} {found}{_kept(result, product)}."


def _kept(result: ShopResult, product: Product) -> str:
    if result.policy != DEFAULT or result.horizon < PROMISED:  # nobody else promises anything
        return ""
    lost = 1.0 - result.shares[:, result.checkpoints >= PROMISED].min(axis=1)
    beyond = int((lost > product.risk).sum())
    who = "no run was ever" if beyond == 0 else f"{beyond} of {result.trials} runs were at some moment"
    return f"; {who} more than the risk of {100.0 * product.risk:g} % behind"


def _privacy(result: ShopResult) -> str:
    if result.claimed is None:
        return "NOT PRIVATE."
    if result.claimed.epsilon == 0.0:
        return "Private: it learns nothing."
    seen = f" {_SEEN[result.trust]}" if result.policy == DEFAULT else ""  # devices of some rivals keep their records
    return f"Privacy claimed: epsilon {result.claimed.epsilon:g}, delta {result.claimed.delta:.2g}.{seen}"
