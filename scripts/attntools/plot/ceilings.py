"""One figure of all shapes: how near each kernel comes to what the machine can do.

Small multiples: a panel a kind of case and data type, a row a shape, a mark a kernel, on the
largest number of threads that was measured.
"""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from attntools.plot import figures, kernel_looks, shapes, style
from attntools.results.cells import Cell, Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROW = 0.15  # inches a shape; more where many kernels share it
MARK = 0.035  # inches a kernel
TALL = 5.0  # inches of panels from which on they stand in two columns
TITLE = 0.34  # inches above each panel
FARTHEST = 125  # percent up to which intervals make the axis longer
LETTER = 0.062  # inches of a label's letter
MOST_LETTERS = 60  # of the labels of all columns


@dataclass
class Panel:
    """A kind of case: the labels of its shapes, and its cells by type and shape."""

    kind: str
    rows: list[str]
    cells: dict[str, dict[str, list[Cell]]]


def _together(found: dict[str, dict[str, list[Cell]]]) -> list[list[str]]:
    """The types of a kind, those in one list whose shapes are mostly the same."""
    lists: list[list[str]] = []
    for dtype, rows in found.items():
        for known in lists:
            if 2 * len(rows.keys() & found[known[0]].keys()) >= len(rows):
                known.append(dtype)
                break
        else:
            lists.append([dtype])
    return lists


def split(cells: Sequence[Cell], most: int) -> list[Panel]:
    """The cells by kind, shapes in order; of more shapes than `most` an even choice."""
    found: dict[str, dict[str, dict[str, list[Cell]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for cell in cells:
        found[shapes.kind(cell)][shapes.dtype(cell)][shapes.shape(cell)].append(cell)
    panels = [
        Panel(kind, list(dict.fromkeys(row for dtype in known for row in of_kind[dtype])),
              {dtype: of_kind[dtype] for dtype in known})
        for kind, of_kind in found.items()
        for known in _together(of_kind)
    ]  # fmt: skip
    total = sum(len(p.rows) for p in panels)
    if total > most:
        for panel in panels:
            panel.rows = shapes.thinned(panel.rows, max(3, most * len(panel.rows) // total))
    return panels


def blocks(panels: Sequence[Panel], row: float) -> list[list[Panel]]:
    """The panels in one column, or in two about as tall where one would be too tall."""
    heights = [TITLE + row * len(p.rows) for p in panels]
    if sum(heights) <= TALL or len(panels) == 1:
        return [list(panels)]
    two: list[list[Panel]] = [[], []]
    tall = [0.0, 0.0]
    for i in sorted(range(len(panels)), key=lambda i: -heights[i]):
        to = tall.index(min(tall))
        two[to].append(panels[i])
        tall[to] += heights[i]
    return [sorted(block, key=list(panels).index) for block in two]


def _draw(
    ax: Axes, panel: Panel, cells: dict[str, list[Cell]], looks: dict[str, style.Look],
    labels: dict[str, str],
) -> None:  # fmt: skip
    """One kind and type: a line of marks for each shape."""
    offsets = {name: (i + 1) / (len(looks) + 1) - 0.5 for i, name in enumerate(looks)}
    points: dict[str, list[tuple[int, Cell]]] = defaultdict(list)
    for y, row in enumerate(panel.rows):
        for cell in cells.get(row, []):
            points[labels[cell.identity.series]].append((y, cell))
    for name, found in points.items():
        look = looks[name]
        at = [y + offsets[name] for y, _ in found]
        style.interval(ax, [c.interval_of(shapes.share(c)) for _, c in found], at, look.colour)
        ax.plot([shapes.share(c) for _, c in found], at, look.marker, color=look.colour, ms=3.6,
                ls="", label=name)  # fmt: skip
    for y in range(1, len(panel.rows), 2):
        ax.axhspan(y - 0.5, y + 0.5, color=style.BAND, lw=0, zorder=0)
    ax.axvline(100, color=style.INK, lw=0.8)
    ax.set_ylim(len(panel.rows) - 0.5, -0.5)
    ax.set_yticks(range(len(panel.rows)), [])
    ax.grid(visible=False, axis="y")
    ax.tick_params(length=0, labelsize=7)


def title(cells: Sequence[Cell], threads: int) -> str:
    """How near the fastest kernel of a shape comes to the ceiling."""
    best = [max(map(shapes.share, group)) for group in shapes.groups(cells)]
    text = f"The best kernel reaches {statistics.median(best):.0f} % of the ceiling"
    if len(best) > 1:
        text += f" in the median of {len(best)} shapes, {min(best):.0f} to {max(best):.0f} %,"
    return f"{text} on {figures.threads_title(threads)}"


def figure(results: Results) -> Figure | None:
    """Shares of the ceiling by shape; None where no cell has one."""
    cells = [c for c in results.timed if shapes.share(c) > 0]
    if not cells:
        return None
    threads = shapes.most_threads(cells)
    cells = [c for c in cells if c.identity.threads == threads]
    labels, looks = shapes.names(results.timed), kernel_looks.by_wins(results)
    looks = {n: v for n, v in looks.items() if n in {labels[c.identity.series] for c in cells}}
    row = max(ROW, MARK * len(looks))
    most = int(1.7 * (style.MOST_HEIGHT - style.TOP - style.BOTTOM - 4 * TITLE) / row)
    panels = split(cells, most)
    dtypes = sorted({shapes.dtype(c) for c in cells}, reverse=True)
    highest = max(min(FARTHEST, (c.interval_of(shapes.share(c)) or (0, 0))[1]) for c in cells)
    highest = max(highest, *(shapes.share(c) for c in cells))
    fig = _laid_out(blocks(panels, row), dtypes, row, highest, looks, labels)
    shown = sum(len(p.rows) for p in panels)
    known = sum(len(p.rows) for p in split(cells, len(cells)))
    part = "" if shown == known else f"; {shown} of {known} shapes, evenly chosen"
    style.heading(
        fig, title(cells, threads), "percent of the ceiling: multiply-adds or reads, whichever "
        f"limits the shape, measured beside it; lines: 95 % intervals{part}",
        figures.origin(results),
    )  # fmt: skip
    style.key(fig, looks)
    return fig


def _laid_out(
    columns: Sequence[Sequence[Panel]], dtypes: Sequence[str], row: float, highest: float,
    looks: dict[str, style.Look], labels: dict[str, str],
) -> Figure:  # fmt: skip
    """The panels, placed by inches."""
    tall = max(sum(TITLE + row * len(p.rows) for p in block) for block in columns)
    fig = plt.figure(figsize=(style.PAGE, style.TOP - TITLE + tall + style.BOTTOM))
    whole = (style.PAGE - 0.15) / len(columns)
    for number, block in enumerate(columns):
        most = MOST_LETTERS // len(columns)
        letters = min(most, max(len(text) for p in block for text in p.rows))
        left = number * whole + 0.2 + LETTER * letters
        width = ((number + 1) * whole - left) / max(len(panel.cells) for panel in block)
        top = style.TOP - TITLE
        lowest = {i: panel for panel in block for i in range(len(panel.cells))}
        for panel in block:
            height = row * len(panel.rows)
            top += TITLE + height
            used = [dtype for dtype in dtypes if dtype in panel.cells]
            for i, dtype in enumerate(used):
                x, y = style.inches(fig, left + i * width, top)
                size = (width - 0.2) / style.PAGE, height / fig.get_figheight()
                ax = fig.add_axes((x, y, *size))
                _draw(ax, panel, panel.cells[dtype], looks, labels)
                ax.set_xlim(0, max(102, 1.04 * highest))
                ends = ["0", "", "50", "", "100"] if panel is lowest[i] else []
                ax.set_xticks([0, 25, 50, 75, 100], ends or [""] * 5)
                ax.set_title(f"{panel.kind}, {dtype}", fontsize=8.5, pad=3)
                if not i:
                    names = [t if len(t) <= most else f"{t[: most - 1]}…" for t in panel.rows]
                    ax.set_yticklabels(names, fontsize=6.8)
    return fig
