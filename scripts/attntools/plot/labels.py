"""Places for labels that do not collide."""

from collections.abc import Mapping, Sequence

from attntools.plot.style import LEADER, PAPER, Look
from matplotlib.axes import Axes


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
    ax: Axes, ends: Mapping[str, tuple[float, float]], looks: Mapping[str, Look]
) -> None:
    """The name of each line right of its last point, apart from the others'."""
    width, height = ax.get_position().size * ax.figure.get_size_inches()
    places = ax.transAxes.inverted().transform(ax.transData.transform(list(ends.values())))
    ys = spread([y for _, y in places], 0.105 / height, 0.03, 0.99)
    for (name, _), (x, _), y in zip(ends.items(), places, ys, strict=True):
        ax.text(x + 0.06 / width, y, name, color=looks[name].colour, fontsize=6.8, va="center",
                transform=ax.transAxes, bbox=PAPER)  # fmt: skip


def beside(ax: Axes, points: Sequence[tuple[str, float, float]], looks: Mapping[str, Look]) -> None:
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
