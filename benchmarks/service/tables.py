"""The tables of docs/lab/service_speed.md, from the results of the last run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab" / "service_speed.md"
MARKS = "targets", "measured", "machine"
NAMES = {
    "echo": "echo",
    "memory": "quotes, in memory",
    "durable": "quotes, durable",
    "cautious memory": "quotes of policy cautious, in memory",
    "cautious": "quotes of policy cautious, durable",
    "postgres": "quotes, durable, PostgreSQL",
}
CAUTIOUS = {"cautious memory": "at least 0.55", "cautious": "at least 0.4"}
MANY = 64  # connections; 1 and 8 are measured too, and left out of the table
Row = dict[str, Any]


def write_page(results: Row) -> None:
    """Replace what stands between a mark and the next empty line."""
    text = PAGE.read_text(encoding="utf-8")
    for mark, new in tables(results).items():
        before, _, rest = text.partition(f"<!-- {mark} -->\n")
        text = f"{before}<!-- {mark} -->\n{new}\n\n{rest.partition(chr(10) * 2)[2]}"
    PAGE.write_text(text, encoding="utf-8")


def tables(results: Row) -> dict[str, str]:
    return {"targets": targets(results), "measured": measured(results), "machine": machine(results)}


def row_of(table: list[Row], server: str, connections: int) -> Row:
    return next(row for row in table if (row["server"], row["connections"]) == (server, connections))


def targets(results: Row) -> str:
    closed, opened, refit, soak = results["closed"], results["open"], results["refit"], results["soak"]
    memory, durable = row_of(closed, "memory", 64), row_of(closed, "durable", 64)
    failed = sum(row["failures"] for row in (*closed, *opened, *results["outcomes"])) + soak["failures"]
    lines = [
        ("quotes in memory, rate as a share of the echo's", "at least 0.55", f"{memory['rate_ratio']:.2f}"),
        ("quotes durable, rate as a share of the echo's", "at least 0.4", f"{durable['rate_ratio']:.2f}"),
        ("p99 in memory, closed loop, over the echo's", "at most 3", f"{memory['p99_ms_ratio']:.1f}"),
        ("p99 durable, closed loop, over the echo's", "at most 3", f"{durable['p99_ms_ratio']:.1f}"),
        (
            f"p99 durable while {refit['records']:,} slots are learned, over that of calm times",
            "at most 2",
            f"{refit['p99_ratio']:.1f}",
        ),
        ("quotes failed meanwhile", "0", f"{refit['busy']['failures']}"),
        ("requests failed in all other parts", "0", f"{failed}"),
        (
            f"memory in a soak of {soak['minutes']:g} minutes, {soak['answers']:,} answers: quoter, learner",
            "flat",
            ", ".join(f"{slope:+.2f} MiB a minute" for slope in soak["mib_a_minute"]),
        ),
    ]
    for row in closed:
        if row["server"] in CAUTIOUS and row["connections"] == 64:
            what = f"{NAMES[row['server']]}, rate as a share of the echo's"
            lines.append((what, CAUTIOUS[row["server"]], f"{row['rate_ratio']:.2f}"))
    if "siege" in results:
        siege = results["siege"]
        beside = f"beside {siege['hostile']:,} hostile connections"
        lines += [
            (f"p99 durable {beside}, over that without", "at most 2", f"{siege['p99_ratio']:.1f}"),
            (f"quotes failed {beside}", "0", f"{siege['failures']}"),
            (f"memory of the quoter {beside}, first to last MiB", "flat", _first_and_last(siege["mib"])),
        ]
    head = "| what, on 64 connections | wanted | measured |\n|---|---|---:|"
    return "\n".join([head, *(f"| {what} | {wanted} | {found} |" for what, wanted, found in lines)])


def _first_and_last(sizes: list[float]) -> str:
    return f"{sizes[0]:.0f} to {sizes[-1]:.0f}"


def measured(results: Row) -> str:
    columns = "server", "load", "answers/s", "of the echo's", "p50, ms", "p99, ms", "CPU a request, us"
    head = f"| {' | '.join(columns)} |\n|---|---|{'---:|' * 5}"
    shown = [row for row in results["closed"] if row["connections"] == MANY]
    lines = [_line(NAMES[row["server"]], f"closed, {row['connections']}", row) for row in shown]
    lines += [_line(NAMES[row["server"]], f"open, {row['asked']:,.0f}/s", row) for row in results["open"]]
    for row in results["outcomes"]:
        name = (
            NAMES[row["server"].partition(":")[0]]
            .replace("quotes", "outcomes")
            .replace(", in memory", ", beside quotes in memory")
        )
        lines.append(_line(name, f"closed, {row['connections']}", row))
    for name in ("calm", "busy"):
        lines.append(_line(f"quotes, durable, {name} (refit)", "open, 1,000/s", results["refit"][name]))
    return "\n".join([head, *lines])


def _line(name: str, load: str, row: Row) -> str:
    share = f"{row['rate_ratio']:.2f}" if "rate_ratio" in row else ""
    return (
        f"| {name} | {load} | {row['rate']:,.0f} | {share} | {row['p50_ms']:.2f} | {row['p99_ms']:.1f} | "
        f"{row['cpu_us']:.0f} |"
    )


def machine(results: Row) -> str:
    found, flush, refit = results["machine"], results["flush"], results["refit"]
    return (
        f"Measured on {found['date']}: {found['cores']} cores ({found['processor']}), Python {found['python']}, load\n"
        f"average {found['load_average']:.1f} at the end, most of it other work. "
        f"The disk took {flush['p50_ms']:.1f} ms to keep a block (median; {flush['p99_ms']:.1f} ms at\n"
        f"p99). The refit took {refit['seconds']:.0f} s."
    )
