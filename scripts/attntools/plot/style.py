"""The style of all figures of the project.

Colours are those of Okabe and Ito, which remain apart for the common kinds of colour blindness;
each also has a marker and a line style of its own, and bars have their names beside them, so that a
figure printed in grey still tells its series apart.  Text stays text in SVG.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from attntools.base.files import replacing
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

# Okabe and Ito 2008, "Color Universal Design"; yellow is left out: it fades on white paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), "-")

INK = "#222222"
FAINT = "#BBBBBB"
GREY = "#5A5A5A"
BAND = "#F3F3F3"  # behind every other row
SEQUENTIAL = "cividis"  # even in lightness, the same to colour-blind eyes (Nunez et al. 2018)

# A thin line from a label to what it names.
LEADER = {"arrowstyle": "-", "color": INK, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}

PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # behind a label on a line

WIDTH = 7.0  # inches: a page's text width
FORMATS = ("svg", "png")

RULES = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "attnbench",  # the same data give the same file
}
plt.rcParams.update(RULES)


class Look:
    """How one series is drawn everywhere in a figure."""

    def __init__(self, index: int) -> None:
        """Look number `index`; they repeat, colour and marker together, only after 49."""
        n = len(COLOURS)
        self.colour = COLOURS[index % n]
        self.marker = MARKERS[(index + index // n) % n]
        self.line = LINES[(index + index // n) % n]


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, in order of appearance."""
    return {name: Look(i) for i, name in enumerate(dict.fromkeys(names))}


def figure(
    rows: int = 1, columns: int = 1, *, height: float = 3.4, share_y: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of the page's width with its axes, row by row."""
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(WIDTH, height),
        squeeze=False,
        layout="constrained",
        sharey="row" if share_y else False,
    )
    return fig, list(axes.flat)


# ---- panels placed by inches ---------------------------------------------------------------------

PAGE = 9.0  # inches: the width of a figure that tells a whole session
TOP, BOTTOM = 0.82, 0.78  # inches for the heading, and for labels, legend and source
MOST_PIXELS = 2000  # on either side of a picture
MOST_HEIGHT = 12.0  # inches that leave a picture below that


def panels(
    rows: int,
    columns: int,
    *,
    height: float,
    gap: tuple[float, float] = (0.45, 0.55),
    sides: tuple[float, float] = (0.6, 0.15),
) -> tuple[Figure, list[Axes]]:
    """A wide figure of equal panels, row by row, with room for heading() and a legend below.

    Args:
        rows: of panels.
        columns: of panels.
        height: of a panel, inches.
        gap: between panels, inches: across and down.
        sides: left and right of all panels, inches.
    """
    inner = rows * height + (rows - 1) * gap[1]
    total = TOP + inner + BOTTOM
    width = (PAGE - sum(sides) - (columns - 1) * gap[0]) / columns
    fig, axes = plt.subplots(
        rows, columns, figsize=(PAGE, total), squeeze=False,
        gridspec_kw={
            "left": sides[0] / PAGE, "right": 1 - sides[1] / PAGE,
            "top": 1 - TOP / total, "bottom": BOTTOM / total,
            "wspace": gap[0] / width, "hspace": gap[1] / height,
        },
    )  # fmt: skip
    return fig, list(axes.flat)


def inches(fig: Figure, x: float, y: float) -> tuple[float, float]:
    """A place in inches from the top left, as a share of the figure."""
    width, height = fig.get_size_inches()
    return x / width, 1 - y / height


def heading(fig: Figure, title: str, note: str, origin: str) -> None:
    """A figure's title in a line, how to read it in a second, and the source of its numbers."""
    fig.text(*inches(fig, 0.12, 0.12), title, fontsize=11, weight="bold", va="top")
    fig.text(*inches(fig, 0.12, 0.34), note, fontsize=8, color=GREY, va="top")
    place = inches(fig, fig.get_figwidth() - 0.1, fig.get_figheight() - 0.06)
    fig.text(*place, origin, fontsize=6.5, color=GREY, ha="right", va="bottom")


def key(fig: Figure, looks: Mapping[str, "Look"], *, lines: bool = False) -> None:
    """Names of series with their looks, in a row at the bottom left."""
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, ls=look.line if lines else "",
               lw=1.3, ms=5, label=name)
        for name, look in looks.items()
    ]  # fmt: skip
    fig.legend(
        handles=handles, loc="lower left", bbox_to_anchor=inches(fig, 0.02, fig.get_figheight()),
        ncols=8, columnspacing=1.3, handletextpad=0.4, borderaxespad=0.1,
    )  # fmt: skip


def interval(
    ax: Axes, spans: Sequence[tuple[float, float] | None], at: Sequence[float], colour: str,
    *, across: bool = True, alpha: float = 1.0,
) -> None:  # fmt: skip
    """Thin lines from end to end of each interval; none where there is none."""
    known = [(span, y) for span, y in zip(spans, at, strict=True) if span and span[0] <= span[1]]
    if known:
        draw = ax.hlines if across else ax.vlines
        lows, highs = [s[0] for s, _ in known], [s[1] for s, _ in known]
        draw([y for _, y in known], lows, highs, color=colour, lw=1.1, alpha=alpha, zorder=2)


# ---- labels that do not collide ------------------------------------------------------------------


def share_of_width(ax: Axes, text: str) -> float:
    """How much of the axes' width a text of 7 points takes, with a space on either side.

    An estimate before anything is laid out: 0.062 inches a letter, 0.6 inches of ticks a column.
    """
    specification = ax.get_subplotspec()
    columns = specification.get_gridspec().ncols if specification else 1
    return 0.062 * (len(text) + 2) / (ax.figure.get_figwidth() / columns - 0.6)


def spread(wanted: Sequence[float], gap: float, lo: float, hi: float) -> list[float]:
    """Places in the same order, at least `gap` apart, each near the one that was wanted.

    Pushed up one after the other, then back down from `hi`; where there is no room for all, those
    at the lower end give way below `lo`.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = list(wanted)
    at = lo - gap
    for i in order:
        places[i] = at = max(wanted[i], at + gap)
    at = hi + gap
    for i in reversed(order):
        places[i] = at = min(places[i], at - gap)
    return places


def end_labels(
    ax: Axes, ends: Mapping[str, tuple[float, float]], looks: Mapping[str, "Look"]
) -> None:
    """The name of each line right of its last point, apart from the others'."""
    width, height = ax.get_position().size * ax.figure.get_size_inches()
    places = ax.transAxes.inverted().transform(ax.transData.transform(list(ends.values())))
    ys = spread([y for _, y in places], 0.105 / height, 0.03, 0.99)
    for (name, _), (x, _), y in zip(ends.items(), places, ys, strict=True):
        ax.text(x + 0.06 / width, y, name, color=looks[name].colour, fontsize=6.8, va="center",
                transform=ax.transAxes, bbox=PAPER)  # fmt: skip


def beside(
    ax: Axes, points: Sequence[tuple[str, float, float]], looks: Mapping[str, "Look"]
) -> None:
    """The name of each point at the right edge, at its height, with a thin line to it."""
    height = ax.get_position().height * ax.figure.get_figheight()
    places = ax.transAxes.inverted().transform(ax.transData.transform([p[1:] for p in points]))
    ys = spread([y for _, y in places], 0.13 / height, 0.02, 0.98)
    for (name, x, y), at in zip(points, ys, strict=True):
        ax.annotate(
            name, (x, y), (0.985, at), textcoords="axes fraction", fontsize=7.5, ha="right",
            va="center", color=looks[name].colour, bbox=PAPER,
            arrowprops=LEADER | {"color": looks[name].colour, "relpos": (0, 0.5)},
        )  # fmt: skip


def lanes(starts: Sequence[float], width: float) -> list[int]:
    """The lowest lane of each label in which it meets no other; they begin at ascending places."""
    ends: list[float] = []
    chosen = []
    for start in starts:
        free = next((lane for lane, end in enumerate(ends) if end <= start), len(ends))
        ends[free : free + 1] = [start + width]
        chosen.append(free)
    return chosen


def legend(fig: Figure, axes: Sequence[Axes], columns: int = 4) -> None:
    """One legend below all axes, each name once."""
    handles: dict[str, object] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        fig.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=columns)


def source(fig: Figure, text: str) -> None:
    """Where the numbers come from, in small letters at the top right."""
    fig.suptitle(text, fontsize=7, color="#666666", x=0.995, ha="right")


def save(fig: Figure, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes a figure in each format, to a temporary file that is renamed, and closes it."""
    paths = []
    for form in formats:
        path = stem.parent / f"{stem.name}.{form}"
        metadata = {"Date": None} if form == "svg" else {"Software": "attnbench"}
        dpi = min(plt.rcParams["savefig.dpi"], MOST_PIXELS / max(fig.get_size_inches()))
        with replacing(path) as aside:
            fig.savefig(aside, format=form, metadata=metadata, dpi=dpi)
        paths.append(path)
    plt.close(fig)
    return paths
