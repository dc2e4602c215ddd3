"""Heat maps of attention weights: one head as axes, and a file of `attnbench eval`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attntools.base.cli import ToolError
from attntools.base.units import digits
from attntools.plot import style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

Matrix = NDArray[np.float64]

SIDES = (0.95, 0.75)  # inches left of the panels for words, and right of them for the colours
LABEL = 0.105  # inches from one word to the next
WORD = 11  # letters of a word that are shown
NUMBER = (0.25, 0.12)  # inches of a weight that has room for its number
MOST_CELLS = 512  # of a panel, down or across: more than its pixels
ROWS = 3  # of panels on a page


def norm(most: float = 1.0) -> PowerNorm:
    """Colours of weights from 0 to `most`, by their square root, so that small ones show, too."""
    return PowerNorm(0.5, 0, most)


def cut(word: str) -> str:
    """A word that is no wider than WORD letters."""
    return word if style.letters(word) <= WORD else begin(word, WORD - 1) + "…"


def begin(word: str, most: int) -> str:
    """As much of a word as is no wider than that many letters."""
    return next(word[:n] for n in range(len(word), -1, -1) if style.letters(word[:n]) <= most)


def words_at(axis: Axis, words: Sequence[str], inches: float, **text: object) -> None:
    """As many words at an axis as there is room for, evenly spaced; integers without words."""
    if not words:
        axis.set_major_locator(MaxNLocator(6, integer=True))
        return
    step = max(1, -(-len(words) // max(1, int(inches / LABEL))))
    places = list(range(0, len(words), step))
    axis.set_ticks(places, [cut(words[i]) for i in places],
                   fontfamily=style.families("".join(words)), **text)  # fmt: skip


def _numbers(ax: Axes, p: Matrix, colours: PowerNorm, width: float, height: float) -> None:
    """The weights of a matrix with room for them; none where one is exactly 0."""
    if width / p.shape[1] < NUMBER[0] or height / p.shape[0] < NUMBER[1]:
        return
    for (i, j), value in np.ndenumerate(p):
        if value:
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=5.5,
                    color="k" if colours(value) > 0.55 else "w")  # fmt: skip


def _fewer(p: Matrix) -> Matrix:
    """The largest of each block of weights, where there are more than a panel has room for."""
    down, across = (-(-n // MOST_CELLS) for n in p.shape)
    for axis, step in ((0, down), (1, across)):
        if step > 1:
            p = np.maximum.reduceat(p, np.arange(0, p.shape[axis], step), axis=axis)
    return p


def heat(
    ax: Axes, p: Matrix, queries: Sequence[str], keys: Sequence[str], colours: PowerNorm,
    *, down: bool = True, across: bool = True,
) -> AxesImage:  # fmt: skip
    """Draws the weights of one head; white where one is exactly 0, as those of hidden keys are.

    Few of them have their numbers.

    Args:
        ax: where.
        p: (queries, keys).
        queries: a word a row; none: numbers.
        keys: a word a column; none: numbers.
        colours: from norm().
        down: whether the axis of queries has labels.
        across: whether that of keys has.
    """
    rows, columns = p.shape
    square = 0.25 <= rows / columns <= 4
    image = ax.imshow(
        np.ma.masked_equal(_fewer(p), 0), cmap=style.SEQUENTIAL, norm=colours,
        aspect="equal" if square else "auto", interpolation="nearest",
        extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
    )  # fmt: skip
    width, height = ax.get_position().size * ax.figure.get_size_inches()
    if square:
        width, height = min(width, height * columns / rows), min(height, width * rows / columns)
    ax.grid(visible=False)
    ax.tick_params(length=0, pad=2, labelsize=6)
    _numbers(ax, p, colours, width, height)
    words_at(ax.yaxis, queries, height)
    words_at(ax.xaxis, keys, width, **({"rotation": 90} if keys else {}))
    if not down:
        ax.set_yticks([])
    if not across:
        ax.set_xticks([])
    return image


def colour_bar(fig: Figure, image: AxesImage) -> None:
    """What the colours mean, at the right edge of the topmost panels."""
    width, height = fig.get_size_inches()
    top = max(ax.get_position().y1 for ax in fig.axes)
    ax = fig.add_axes((1 - 0.55 / width, top - 1.5 / height, 0.1 / width, 1.5 / height))
    fig.colorbar(image, cax=ax)
    ax.set_title("weight", fontsize=6.5, weight="normal", pad=4)
    ax.tick_params(labelsize=6, length=2)
    ax.grid(visible=False)


# ---- a file of attnbench eval --------------------------------------------------------------------


class File:
    """The weights of a file, head by head."""

    def __init__(self, path: str | Path) -> None:
        """Opens a file; raises ToolError where it has no weights of (B,H,Sq,Skv) or (H,Sq,Skv)."""
        with Path(path).open("rb"):
            pass  # or the error that names the file
        try:
            self._file = safe_open(path, framework="numpy")
        except SafetensorError as wrong:
            raise ToolError(f"{path}: is no safetensors file: {wrong}") from None
        names = list(self._file.keys())
        if "weights" not in names:
            has = ", ".join(names) or "nothing"
            raise ToolError(
                f"{path}: there is no tensor weights, it has {has}; "
                "attnbench eval --problem outputs=o+weights writes it"
            )
        self._weights = self._file.get_slice("weights")
        shape, self.path = tuple(self._weights.get_shape()), path
        kind = str(self._weights.get_dtype())
        if len(shape) not in (3, 4) or 0 in shape or kind not in ("F16", "F32", "F64"):
            text = ",".join(map(str, shape))
            raise ToolError(
                f"{path}: weights is {kind.lower()} ({text}), not floating-point (B,H,Sq,Skv)"
            )
        self.packed = len(shape) == 3
        self.shape: tuple[int, int, int, int] = (1, *shape) if self.packed else shape

    def head(self, b: int, h: int) -> Matrix:
        """Weights (Sq, Skv) of a head."""
        p = self._weights[h : h + 1] if self.packed else self._weights[b : b + 1, h : h + 1]
        return np.asarray(p, dtype=float).reshape(self.shape[2:])

    def words(self, path: str | Path | None) -> tuple[list[str], list[str]]:
        """The words of queries and keys, one a line of a file: all keys, the last of which ask."""
        if path is None:
            return [], []
        try:
            words = Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise ToolError(f"{path}: is no UTF-8 text") from None
        queries, keys = self.shape[2:]
        if len(words) != keys:
            raise ToolError(
                f"{path}: {len(words)} tokens, and weights of {self.path} has {keys} keys"
            )
        words = [word.replace("$", r"\$") for word in words]  # or Matplotlib takes it for a formula
        return words[keys - queries :] if queries <= keys else [], words


def page_title(matrices: Sequence[Matrix], heads: Sequence[int], sequence: str) -> str:
    """Which head has the largest weight, and how many keys its rows use of all."""
    largest = [float(np.nanmax(p, initial=0)) for p in matrices]
    at = int(np.argmax(largest))
    used = float(np.median(1 / np.nansum(np.square(matrices[at]), axis=1).clip(1e-300)))
    return (f"Attention weights{sequence}: the largest is {digits(largest[at])}, in head "
            f"{heads[at]}, whose rows use {digits(used)} of {matrices[at].shape[1]} "
            "keys")  # fmt: skip


def _page(
    file: File, b: int, heads: Sequence[int], words: tuple[list[str], list[str]], columns: int
) -> Figure:
    rows = -(-len(heads) // columns)
    side = (style.PAGE - sum(SIDES) - (columns - 1) * 0.3) / columns
    queries, keys = file.shape[2:]
    height = side * min(max(queries / keys, 0.25), 1.2)
    gap = 0.3 + (0.55 if words[1] else 0.15)
    fig, axes = style.panels(rows, columns, height=height, gap=(0.3, gap), sides=SIDES)
    matrices = [file.head(b, h) for h in heads]
    most = max(float(np.nanmax(p, initial=0)) for p in matrices)
    for ax, h, p in zip(axes, heads, matrices, strict=False):
        first = ax.get_subplotspec().is_first_col()
        image = heat(ax, p, *words, norm(most or 1), down=first or not words[0])
        ax.set_title(f"head {h}", fontsize=8)
    for ax in axes[len(heads) :]:
        ax.set_axis_off()
    colour_bar(fig, image)
    fewer = " Of neighbours the largest is drawn." if max(queries, keys) > MOST_CELLS else ""
    sequence = f", sequence {b}" if file.shape[0] > 1 else ""
    style.heading(
        fig, page_title(matrices, heads, sequence),
        f"A row is a query, a column a key. Colours from 0 to {digits(most)} by square root; "
        f"white: exactly 0.{fewer}",
        f"{Path(file.path).name}: weights {file.shape}",
    )  # fmt: skip
    return fig


def figures(path: str | Path, tokens: str | Path | None) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each page: all heads of a sequence, twelve of few tokens.

    Args:
        path: what `attnbench eval --problem outputs=o+weights` wrote.
        tokens: a file with a word for each key, one a line.
    """
    file = File(path)
    words = file.words(tokens)
    columns = next((c for c, n in ((4, 16), (3, 24)) if file.shape[3] <= n), 2)
    columns = min(columns, max(2, file.shape[1]))
    heads = range(file.shape[1])
    for b in range(file.shape[0]):
        for at in range(0, len(heads), columns * ROWS):
            page = f"-heads-{at}" if len(heads) > columns * ROWS else ""
            sequence = f"-{b}" if file.shape[0] > 1 else ""
            yield f"weights{sequence}{page}", _page(
                file, b, heads[at : at + columns * ROWS], words, columns)  # fmt: skip
