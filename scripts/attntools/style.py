"""The style of all figures of the project.

Colours are those of Okabe and Ito, which remain apart for the common kinds of colour blindness;
each also has a marker and a line style of its own, and bars have their names beside them, so that a
figure printed in grey still tells its series apart.  Text stays text in SVG.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attntools.files import replacing

# Okabe and Ito 2008, "Color Universal Design"; yellow is left out: it fades on white paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), "-")

INK = "#222222"
FAINT = "#BBBBBB"
SEQUENTIAL = "cividis"  # even in lightness, the same to colour-blind eyes (Nunez et al. 2018)

# A thin line from a label to what it names.
LEADER = {"arrowstyle": "-", "color": INK, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}

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


# ---- labels that do not collide ------------------------------------------------------------------


def share_of_width(ax: Axes, text: str) -> float:
    """How much of the axes' width a text of 7 points takes, with a space on either side.

    An estimate before anything is laid out: 0.062 inches a letter, 0.6 inches of ticks a column.
    """
    specification = ax.get_subplotspec()
    columns = specification.get_gridspec().ncols if specification else 1
    return 0.062 * (len(text) + 2) / (WIDTH / columns - 0.6)


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
        with replacing(path) as aside:
            fig.savefig(aside, format=form, metadata=metadata)
        paths.append(path)
    plt.close(fig)
    return paths
