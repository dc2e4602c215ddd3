"""The style of all figures of the project.

The first seven colours are those of Okabe and Ito, which remain apart for the common kinds of
colour blindness; each series also has a mark and a dash of its own, so that a figure printed in
grey still tells them apart.  Text stays text in SVG.
"""

import io
import logging
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from attntools.base.files import replacing
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text

# Okabe and Ito 2008, "Color Universal Design"; yellow is left out: it fades on white paper.  Then
# five of Tol 2021, "Colour schemes", and a brown: apart from the first seven in lightness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255",
           "#999933", "#332288", "#AA7744", "#BB0022")  # fmt: skip
# Muted, for what is no kernel: lengths, thresholds, kinds of cases, verdicts.
NEUTRAL = ("#3F5362", "#A9797A", "#7F9C8F", "#5B5B4B", "#8084A8", "#B7A08A", "#6E4A5A", "#B8A9B5")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "p", "h")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 3)),
         (0, (8, 2, 2, 2)), (0, (2, 3)), (0, (8, 1, 1, 1, 1, 1, 1, 1)), (0, (4, 1)))  # fmt: skip

INK = "#222222"
FAINT = "#BBBBBB"
GREY = "#5A5A5A"
BAND = "#F3F3F3"  # behind every other row
SEQUENTIAL = "cividis"  # even in lightness, the same to colour-blind eyes (Nunez et al. 2018)

# A thin line from a label to what it names.
LEADER = {"arrowstyle": "-", "color": INK, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}

PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # behind a label on a line

FONT = "DejaVu Sans"
# Fonts with the letters of East Asia, which FONT lacks; a PNG has boxes where none is installed.
EAST = ("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
        "Droid Sans Fallback")  # fmt: skip
warnings.filterwarnings("ignore", r"Glyph \d+")  # plot says so once
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # about fonts of EAST

WIDTH = 7.0  # inches: a page's text width
FORMATS = ("svg", "png")

# Of a file, by its format: without the time, so that equal figures are equal files.
METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None},
    "png": {"Software": "attnbench"},
    "pdf": {"Creator": "attnbench", "CreationDate": None},
}

RULES = {
    "font.family": FONT,
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


def letters(text: str) -> int:
    """How wide a text is, in letters: those of East Asia count twice."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def families(text: str) -> list[str]:
    """The fonts that a text needs."""
    return [FONT, *EAST] if letters(text) > len(text) else [FONT]


class Look:
    """How one series is drawn everywhere in a figure."""

    def __init__(self, index: int, colours: Sequence[str] = COLOURS) -> None:
        """Look number `index`; colour, mark and dash come back together after 144 of them.

        No two of those have the mark and the dash in common.
        """
        turn, self.index = index // len(MARKERS), index
        self.colour = colours[index % len(colours)]
        self.marker = MARKERS[(index + turn) % len(MARKERS)]
        self.line = LINES[(index + 2 * turn) % len(LINES)]

    @property
    def drawn(self) -> dict[str, Any]:
        """As plot() takes it."""
        return {"color": self.colour, "marker": self.marker, "ls": self.line}

    def paler(self, steps: int) -> "Look":
        """The same colour nearer to white and the same mark, with another dash for each step."""
        look = Look(self.index)
        share = 0.6**steps
        rgb = (1 - share * (1 - c) for c in to_rgb(self.colour))
        look.colour = self.colour if not steps else to_hex(tuple(rgb))
        look.line = LINES[(LINES.index(self.line) + 5 * steps) % len(LINES)]
        return look


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, which is no kernel's, in order of appearance."""
    return {name: Look(i, NEUTRAL) for i, name in enumerate(dict.fromkeys(names))}


def names_down(ax: Axes, names: Sequence[str], **text: object) -> None:
    """A name for each row of a panel, the first at the top."""
    ax.set_yticks(range(len(names)), names, **text)
    ax.set_ylim(len(names) - 0.5, -0.5)


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
FOOT = 0.16  # inches for the source
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
    top: float = TOP,
) -> tuple[Figure, list[Axes]]:
    """A wide figure of equal panels, row by row, with room for heading() and a legend below.

    Args:
        rows: of panels.
        columns: of panels.
        height: of a panel, inches.
        gap: between panels, inches: across and down.
        sides: left and right of all panels, inches.
        top: above them, inches.
    """
    inner = rows * height + (rows - 1) * gap[1]
    total = top + inner + BOTTOM
    width = (PAGE - sum(sides) - (columns - 1) * gap[0]) / columns
    fig, axes = plt.subplots(
        rows, columns, figsize=(PAGE, total), squeeze=False,
        gridspec_kw={
            "left": sides[0] / PAGE, "right": 1 - sides[1] / PAGE,
            "top": 1 - top / total, "bottom": BOTTOM / total,
            "wspace": gap[0] / width, "hspace": gap[1] / height,
        },
    )  # fmt: skip
    return fig, list(axes.flat)


def inches(fig: Figure, x: float, y: float) -> tuple[float, float]:
    """A place in inches from the top left, as a share of the figure."""
    width, height = fig.get_size_inches()
    return x / width, 1 - y / height


def heading(fig: Figure, title: str, note: str, origin: str) -> None:
    """What a figure shows in a sentence, how to read it in small letters, whence its numbers.

    Figures of figure() grow by the room that this takes; those of panels() have it.
    """
    width, engine = fig.get_figwidth(), fig.get_layout_engine()
    size = 10 if engine else 11
    titles = textwrap.wrap(title, int(width * 12)) if engine else [title]
    notes = [line for part in note.split("\n") for line in textwrap.wrap(part, int(width * 17))]
    if engine:
        top, names = 0.16 + 0.18 * len(titles) + 0.14 * len(notes), 0.0
        for known in fig.legends:
            names = known.get_window_extent().height / fig.dpi + 0.1
        height = fig.get_figheight() + top + names + FOOT
        fig.set_figheight(height)
        engine.set(rect=(0, (names + FOOT) / height, 1, 1 - (top + names + FOOT) / height))
        for known in fig.legends:
            known.set_bbox_to_anchor((0, FOOT / height, 1, 1))
    below = 0.14 + 0.18 * len(titles)
    for y, lines, points, colour, weight in (
        (0.1, titles, size, INK, "bold"),
        (below, notes, 8, GREY, "normal"),
    ):
        text = fig.text(*inches(fig, 0.1, y), "\n".join(lines), fontsize=points, color=colour,
                        va="top", weight=weight, fontfamily=families("".join(lines)))  # fmt: skip
        wide = text.get_window_extent().width / fig.dpi
        text.set_fontsize(points * min(1, (width - 0.2) / max(wide, 0.1)))
    place = inches(fig, width - 0.06, fig.get_figheight() - 0.04)
    fig.text(*place, origin, fontsize=6.5, color=GREY, ha="right", va="bottom")


def key(fig: Figure, looks: Mapping[str, "Look"], *, lines: bool = False) -> None:
    """Names of series with their looks, in a row at the bottom left.

    After heading(): two rows, and smaller letters, where one has no room beside the source.
    """
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, ls=look.line if lines else "",
               lw=1.3, ms=5, label=name)
        for name, look in looks.items()
    ]  # fmt: skip
    corner = inches(fig, 0.02, fig.get_figheight())
    most = max(1, min(8, len(handles)))
    least = max(1, -(-len(handles) // max(2, -(-len(handles) // 8))))
    for size, columns in product((8, 6.5, 5), range(most, least - 1, -1)):
        known = fig.legend(
            handles=handles, loc="lower left", bbox_to_anchor=corner,
            ncols=columns, columnspacing=1.3, handletextpad=0.4, borderaxespad=0.1, fontsize=size,
        )  # fmt: skip
        if _has_room(fig, known) or (size, columns) == (5, least):
            break
        known.remove()


def _has_room(fig: Figure, known: Legend) -> bool:
    """Whether a legend lies within the page and on no text of it."""
    known.draw(fig.canvas.get_renderer())  # places its names
    texts = [t.get_window_extent() for t in fig.texts]
    names = [t.get_window_extent() for t in known.get_texts()]
    within = all(name.x1 < fig.bbox.x1 for name in names)
    return within and not any(name.overlaps(text) for name in names for text in texts)


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


# ---- the figure as a whole -----------------------------------------------------------------------


def legend(fig: Figure, axes: Sequence[Axes], columns: int = 4) -> None:
    """One legend below all axes, each name once."""
    handles: dict[str, object] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        fig.legend(list(handles.values()), list(handles), loc="lower center", ncols=columns)


def lacks_font(fig: Figure) -> bool:
    """Whether a PNG of a figure has boxes for letters of East Asia, as no font here has them."""
    known = {*font_manager.get_font_names()}
    return not known & {*EAST} and any(len(families(t.get_text())) > 1 for t in fig.findobj(Text))


def save(fig: Figure, stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Writes a figure in each format, to a temporary file that is renamed, and closes it."""
    paths = []
    for form in formats:
        path = stem.parent / f"{stem.name}.{form}"
        dpi = min(plt.rcParams["savefig.dpi"], MOST_PIXELS / max(fig.get_size_inches()))
        drawn = (
            io.BytesIO()
        )  # not the file: where a disk is full, the PDF writer fails in its own way
        fig.savefig(drawn, format=form, metadata=METADATA[form], dpi=dpi)
        with replacing(path) as aside:
            aside.write_bytes(drawn.getbuffer())
        paths.append(path)
    plt.close(fig)
    return paths
