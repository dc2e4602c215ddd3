"""The page of a folder or file of experiments: each question, its figure, findings and method."""

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from attntools.base.cli import told
from attntools.experiments import experiment_words as words
from attntools.experiments.experiment_rows import answers
from attntools.experiments.plot_experiments import FIGURES, drawn
from attntools.plot.figures import origin
from attntools.report.page import Texts, image, render, without_folders
from attntools.report.page_session import Picture, commands
from attntools.results.cells import Results, ResultsError
from attntools.results.results import read
from markdown_it import MarkdownIt
from markupsafe import Markup

# Question, method and source of every experiment; the program has them from there, too.
ASKED = Path(__file__).parents[3] / "harness" / "experiments" / "experiments.json"

FOUND = "README.md"  # beside the files: a section of this has what an experiment found

# The page leads nowhere, so links are their texts, and what looks like HTML is text.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
for rule in ("link_open", "link_close", "image"):
    MARKDOWN.add_render_rule(rule, lambda *_: "")


def files(folder: Path) -> list[Path]:
    """The results files of a folder."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: is no folder of results files")
    found = sorted(folder.glob("*.jsonl"))
    if not found:
        raise ResultsError(f"{folder}: has no results files (*.jsonl)")
    return found


def sections(text: str) -> dict[str, Markup]:
    """What stands below each heading of second order, as HTML without pictures."""
    found: dict[str, Markup] = {}
    tokens = MARKDOWN.parse(text)
    begins = [i for i, t in enumerate(tokens) if (t.type, t.tag) == ("heading_open", "h2")]
    for begin, end in pairwise([*begins, len(tokens)]):
        below = tokens[begin + 3 : end]
        pictures = {
            j
            for i, t in enumerate(below)
            if t.children and all(c.type == "image" for c in t.children)
            for j in (i - 1, i, i + 1)
        }
        kept = [t for i, t in enumerate(below) if i not in pictures]
        html = MARKDOWN.renderer.render(kept, MARKDOWN.options, {})
        found[tokens[begin + 1].content.strip()] = Markup(html)
    return found


def names(results: Results) -> list[str]:
    """The experiments of a file, in the order of its rows."""
    return list(dict.fromkeys(row["name"] for row in answers(results)))


def pictures(results: Results, name: str) -> list[Picture]:
    """The figures of an experiment, described by what their functions say that they draw."""
    return [
        Picture(figure, f"{figure}: {_drawn_by(figure)}", image(fig))
        for figure, fig in drawn(results, name)
        if fig
    ]


def _drawn_by(figure: str) -> str:
    return (FIGURES.get(figure, words.heads).__doc__ or "").splitlines()[0]


def _of_file(results: Results, found: dict[str, Markup]) -> Iterator[Texts]:
    asked = {e["name"]: e for e in json.loads(ASKED.read_text(encoding="utf-8"))}
    for name in names(results):
        known = asked.get(name, {})
        yield Texts(
            name=name,
            anchor=f"{results.name}-{name}" if results.name != name else name,
            question=known.get("question", name),
            method=known.get("method", ""),
            source=known.get("source", ""),
            pictures=pictures(results, name),
            found=found.get(name, Markup("")),
            measured_on=without_folders(origin(results)),
            file=Path(results.path).name,
            commands=commands(results.sessions),
        )


def experiments(paths: Iterable[Path], found: dict[str, Markup]) -> list[Texts]:
    """Those of some files, in the order in which the program lists them; unknown ones last."""
    shown: list[Texts] = []
    for path in paths:
        shown += _of_file(told("report", read(path)), found)
    order = {name: i for i, name in enumerate(FIGURES)}
    return sorted(shown, key=lambda one: order.get(one["name"], len(order)))


def page(path: Path) -> str:
    """The whole page of a folder, or of one file of experiments."""
    folder = path.parent if path.is_file() else path
    readme = folder / FOUND
    found = sections(readme.read_text(encoding="utf-8")) if readme.is_file() else {}
    shown = experiments([path] if path.is_file() else files(folder), found)
    if not shown:
        raise ResultsError(f"{folder}: none of its files has a row of an experiment")
    return render("experiments.html", title="attnbench: what the experiments show", shown=shown)
