"""Tables as text for terminals, Markdown and CSV."""

import csv
import io
from collections.abc import Sequence

Cells = Sequence[Sequence[str]]

COLOURS = {"SLOWER": "31", "FASTER": "32", "UNCLEAR": "33"}


def text(head: Sequence[str], rows: Cells, numeric: Sequence[bool], *, colours: bool) -> str:
    """Aligned columns; numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    formats = [f"{{:{'>' if n else '<'}{w}}}" for n, w in zip(numeric, widths, strict=True)]
    line = "  ".join(formats)
    lines = [line.format(*row).rstrip() for row in (head, *rows)]
    if colours:
        lines = [_coloured(line) for line in lines]
    return "\n".join(lines) + "\n"


def _coloured(line: str) -> str:
    for word, colour in COLOURS.items():
        if f" {word}" in line:
            return line.replace(word, f"\x1b[{colour}m{word}\x1b[0m", 1)
    return line


def markdown(head: Sequence[str], rows: Cells, numeric: Sequence[bool]) -> str:
    """A pipe table."""
    rule = ["---:" if n else "---" for n in numeric]
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *escaped))


def comma_separated(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """CSV with a header line, as RFC 4180 but with plain newlines."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()
