"""Writes one self-contained HTML page from results files.

    scripts/report FILE.jsonl [MORE.jsonl ...] --output report.html

For each file: the machine and the build, how noisy the session was, every cell with its time,
interval, rates, error and repro line, and the figures.  Further files are compared with the first.
The page needs no network; without scripts it reads the same, with them its tables sort and filter.

Exit codes: 0 written, 3 output, 4 usage or input.
"""

import argparse
import base64
import io
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from html import escape
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attntools.cells import WRONG_STATES, Cell, Results, Row
from attntools.cli import Exit, guard, parser, say
from attntools.comparable import incomparable
from attntools.comparison import Comparison, compare_files
from attntools.comparison_tables import (
    APART,
    HEAD,
    NUMERIC,
    case_text,
    comparison_rows,
    interval_text,
    summary,
    varying_fields,
)
from attntools.files import write_text
from attntools.plot import KINDS, draw
from attntools.results import read_all
from attntools.rivals import against_the_best
from attntools.units import change, digits, seconds, size

TOOL = "report"
HERE = Path(__file__).parent

# Bars repeat the table, one figure a case: with many cases they would hide the rest.
MOST_BARS = 16

# The page may load nothing, not even by mistake: what it needs is in it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

# Heading; text; value to sort by, where the column is a number.
COLUMNS = (
    ("case", lambda c: c.case, None),
    ("kernel/isa", lambda c: c.identity.label, None),
    ("group", lambda c: c.group or "-", None),
    ("threads", lambda c: str(c.threads), lambda c: c.threads),
    ("state", lambda c: c.state, None),
    ("median", lambda c: seconds(median(c)), lambda c: median(c)),
    ("95 % interval", lambda c: relative_interval(c), lambda c: half_width(c)),
    ("GFLOP/s", lambda c: digits(c.number("gflops")), lambda c: c.number("gflops")),
    ("% FMA", lambda c: share(c, "fraction_of_fma"), lambda c: c.number("fraction_of_fma")),
    (
        "% read",
        lambda c: share(c, "fraction_of_bandwidth"),
        lambda c: c.number("fraction_of_bandwidth"),
    ),
    ("error / bound", lambda c: error(c), lambda c: c.number("check.error_over_bound")),
    ("workspace", lambda c: size(c.number("workspace_bytes")), lambda c: c.number(
        "workspace_bytes")),
    ("flags", lambda c: ", ".join(c.flags), None),
)  # fmt: skip


def median(cell: Cell) -> float:
    """The median time; NaN where the row has none."""
    return cell.median_s if cell.timed else float("nan")


def half_width(cell: Cell) -> float:
    """Half the interval over the median; NaN without one."""
    if not cell.timed or not cell.interval_s:
        return float("nan")
    return (cell.interval_s[1] - cell.interval_s[0]) / 2 / cell.median_s


def relative_interval(cell: Cell) -> str:
    """The interval as changes from the median."""
    if not cell.timed or not cell.interval_s:
        return "-"
    lo, hi = cell.interval_s
    return interval_text(lo / cell.median_s, hi / cell.median_s)


def share(cell: Cell, key: str) -> str:
    """A fraction as per cent."""
    return digits(100 * cell.number(key))


def error(cell: Cell) -> str:
    """Largest error over its bound."""
    value = cell.number("check.error_over_bound")
    return f"{value:.2g}" if value == value else "-"


# ---- parts ---------------------------------------------------------------------------------------


def cells_table(cells: Collection[Cell]) -> str:
    """All cells; each row ends with the command that repeats it."""
    head = [(name, value is not None) for name, _, value in COLUMNS]
    head.append(("repro", False))
    parts = ['<div class="scroll"><table class="cells"><thead><tr>']
    parts += [f'<th scope="col"{" class=n" if n else ""}>{escape(name)}</th>' for name, n in head]
    parts.append("</tr></thead><tbody>")
    varying = varying_fields(cells)
    for cell in cells:
        parts.append("<tr>")
        for name, text, value in COLUMNS:
            shown = escape(case_text(cell, varying) if name == "case" else text(cell))
            if name == "state" and cell.state != "ok":
                wrong = " class=bad" if cell.state in WRONG_STATES else ""
                shown = f"<span{wrong}>{shown}</span> {escape(cell.why or '')}"
            parts.append(f'<td class=n data-value="{value(cell)}">' if value else "<td>")
            parts.append(f"{shown}</td>")
        parts.append(f"<td><code>{escape(str(cell.row.get('repro') or ''))}</code></td></tr>")
    parts.append("</tbody></table></div>")
    return "".join(parts)


def plain_table(
    kind: str, head: Sequence[str], numeric: Sequence[bool], rows: Iterable[Sequence[str]]
) -> str:
    """A table of texts."""
    classes = [" class=n" if n else "" for n in numeric]
    top = (f'<th scope="col"{c}>{escape(h)}</th>' for h, c in zip(head, classes, strict=True))
    body = (
        "".join(f"<td{c}>{escape(text)}</td>" for text, c in zip(row, classes, strict=True))
        for row in rows
    )
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{"".join(top)}</tr></thead>'
        f"<tbody>{''.join(f'<tr>{row}</tr>' for row in body)}</tbody></table></div>"
    )


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """A list of names and values; unknown ones are left out."""
    items = [f"<dt>{escape(k)}</dt><dd>{escape(str(v))}</dd>" for k, v in pairs if v]
    return f"<dl>{''.join(items)}</dl>"


def machine_facts(machine: Row) -> list[tuple[str, object]]:
    """What a reader needs to know about the machine."""
    caches = [f"L{c.get('level')} {size(c.get('bytes') or 0)}" for c in machine.get("caches") or []]
    return [
        ("machine", f"{machine.get('cpu', '?')}, {machine.get('cores', '?')} cores, "
                    f"{machine.get('threads', '?')} threads"),
        ("caches", ", ".join(caches)),
        ("memory", size(machine.get("memory_bytes") or 0)),
        ("instruction sets", ", ".join(machine.get("isas") or [])),
        ("hypervisor", machine.get("hypervisor")),
        ("governor", machine.get("governor")),
        ("fingerprint", machine.get("fingerprint")),
    ]  # fmt: skip


def noise_facts(results: Results) -> list[tuple[str, object]]:
    """How noisy the session was, as far as its rows tell."""
    widths = sorted(w for c in results.timed if (w := half_width(c)) == w)
    flags = Counter(flag for c in results.timed for flag in c.flags)
    middle = f"{100 * widths[len(widths) // 2]:.2g} % (median cell), " if widths else ""
    worst = f"{100 * widths[-1]:.2g} % (worst)" if widths else "no cell has an interval"
    return [
        ("half-width of the intervals", middle + worst),
        ("disturbed cells", ", ".join(f"{flag}: {n}" for flag, n in flags.most_common())),
    ]


NOISE_HEAD = ("case", "kernel/isa", "threads", "rounds", "differed from itself by",
              "a difference of so much would have shown")  # fmt: skip


def noise_table(results: Results) -> str:
    """How much a cell that was launched twice a round differed from itself."""
    rows = [
        (
            str(line.get("case")),
            f"{line.get('kernel')}/{line.get('isa')}",
            str(line.get("threads")),
            str(line.get("rounds")),
            change(line.get("ratio") or float("nan")),
            change(1 + (line.get("detectable") or float("nan"))),
        )
        for line in results.noise
    ]
    return plain_table("plain", NOISE_HEAD, (False, False, *[True] * 4), rows) if rows else ""


def image(name: str, fig: Figure) -> str:
    """A figure as SVG inside the page."""
    out = io.BytesIO()
    fig.savefig(out, format="svg", metadata={"Date": None})
    plt.close(fig)
    data = base64.b64encode(out.getvalue()).decode()
    return (
        f'<figure><img alt="{escape(name)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption hidden>{escape(name)}</figcaption></figure>"
    )


def figures_of(results: Results) -> str:
    """All figures that the file has data for."""
    many = len({c.case for c in results.timed}) > MOST_BARS
    kinds = [kind for kind in KINDS if not (many and kind == "bars")]
    return "\n".join(image(name, fig) for name, fig in draw(results, kinds))


def compared(base: Results, new: Results) -> str:
    """A file against the first, or why the two are not compared."""
    reasons = incomparable([base, new])
    if reasons:
        return f"<p>Not compared with the first file: {escape('; '.join(reasons))}</p>"
    comparisons = compare_files(base, new)
    said = escape(f"{summary(comparisons)}. {APART}")
    return f"<p>{said}</p>{comparison_table([c for c in comparisons if c.base and c.new])}"


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """Cells against cells."""
    head = [heading or "verdict" for heading in HEAD]
    return plain_table("cells", head, NUMERIC, comparison_rows(comparisons))


def rivals_table(results: Results) -> str:
    """Who wins against the best rival, and by how much; empty where the file has no rivals."""
    found = against_the_best(results)
    heading = "<h3>Ours (new) against the best rival (base)</h3>"
    return f"{heading}{comparison_table(found)}" if found else ""


def section(results: Results, number: int) -> str:
    """All about one file."""
    session = results.sessions[0]
    wrong = sum(c.state in WRONG_STATES for c in results.cells.values())
    about = [
        *machine_facts(session.machine),
        ("build", session.build_text()),
        ("started", session.header.get("started")),
        ("command", "attnbench " + " ".join(session.header.get("command") or [])),
        ("cells", f"{len(results.cells)}, {len(results.timed)} with a time, {wrong} wrong"),
        *noise_facts(results),
        ("notes", "; ".join(results.notes)),
    ]
    return (
        f'<section id="file{number}"><h2>{escape(results.name)}</h2>{facts(about)}'
        f"{noise_table(results)}{rivals_table(results)}"
        f"{cells_table(results.cells.values())}{figures_of(results)}</section>"
    )


def page(files: Sequence[Results]) -> str:
    """The whole page."""
    links = "".join(
        f'<a href="#file{i}">{escape(r.name)}</a>' for i, r in enumerate(files)
    ) + "".join(
        f'<a href="#against{i}">{escape(r.name)} against {escape(files[0].name)}</a>'
        for i, r in enumerate(files[1:], 1)
    )
    comparisons = "".join(
        f'<section id="against{i}"><h2>{escape(r.name)} against {escape(files[0].name)}</h2>'
        f"{compared(files[0], r)}</section>"
        for i, r in enumerate(files[1:], 1)
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>attnbench report</title><style>{(HERE / 'report.css').read_text()}</style></head>"
        f"<body><h1>attnbench report</h1><nav>{links}</nav>{comparisons}"
        f"{''.join(section(r, i) for i, r in enumerate(files))}"
        f"<script>{(HERE / 'report.js').read_text()}</script></body></html>\n"
    )


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    p: argparse.ArgumentParser = parser(TOOL, __doc__)
    p.add_argument("files", nargs="+", metavar="FILE")
    p.add_argument("--output", required=True, metavar="HTML", help="- for standard output")
    options = p.parse_args(argv)
    files = read_all(options.files)
    for note in (note for r in files for note in r.notes):
        say(TOOL, note)
    write_text(options.output, page(files))
    return Exit.OK


if __name__ == "__main__":
    guard(TOOL, run)
