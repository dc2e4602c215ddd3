"""The page of a folder of experiments: each question, its figure, findings and method."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape

from attntools import experiment_words as words
from attntools.cells import Results, ResultsError
from attntools.cli import say
from attntools.figures import origin
from attntools.page import image, render, without_folders
from attntools.page_session import Picture, commands
from attntools.plot_experiments import FIGURES, drawn
from attntools.results import read

# Question, method and source of every experiment, as `attnbench list --json` says them; a test of
# the program holds the two together.
ASKED = Path(__file__).with_name("experiments.json")

FOUND = "README.md"  # beside the files: a section of this has what an experiment found
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@dataclass
class Shown:
    """An experiment as the page shows it."""

    name: str
    anchor: str
    question: str
    method: str
    source: str
    pictures: list[Picture]
    found: list[Markup]
    measured_on: str
    file: str
    commands: list[str]


def files(folder: Path) -> list[Path]:
    """The results files of a folder."""
    if not folder.is_dir():
        raise ResultsError(f"{folder}: is no folder of results files")
    found = sorted(folder.glob("*.jsonl"))
    if not found:
        raise ResultsError(f"{folder}: has no results files (*.jsonl)")
    return found


def sections(text: str) -> dict[str, list[str]]:
    """Paragraphs below each heading of second order, without pictures."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"(?m)^## ", text)[1:]:
        name, _, body = part.partition("\n")
        paragraphs = (" ".join(p.split()) for p in re.split(r"\n\s*\n", body))
        found[name.strip()] = [p for p in paragraphs if p and not p.startswith("![")]
    return found


def marked_up(paragraph: str) -> Markup:
    """A paragraph whose `code` is marked as such and whose links are their texts.

    Nothing else of Markdown is known; the page itself leads nowhere.
    """
    parts = CODE.split(LINK.sub(r"\1", paragraph))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part)
        for i, part in enumerate(parts)
    )


def names(results: Results) -> list[str]:
    """The experiments of a file, in the order of its rows."""
    return list(dict.fromkeys(row["name"] for row in results.experiments))


def pictures(results: Results, name: str) -> list[Picture]:
    """The figures of an experiment, described by what their functions say that they draw."""
    return [
        Picture(figure, f"{figure}: {_drawn_by(figure)}", image(fig))
        for figure, fig in drawn(results, name)
        if fig
    ]


def _drawn_by(figure: str) -> str:
    return (FIGURES.get(figure, words.heads).__doc__ or "").splitlines()[0]


def _of_file(results: Results, found: dict[str, list[str]]) -> Iterator[Shown]:
    asked = {e["name"]: e for e in json.loads(ASKED.read_text(encoding="utf-8"))}
    for name in names(results):
        known = asked.get(name, {})
        yield Shown(
            name=name,
            anchor=f"{results.name}-{name}" if results.name != name else name,
            question=known.get("question", name),
            method=" ".join(known.get("method", "").split()),
            source=" ".join(known.get("source", "").split()),
            pictures=pictures(results, name),
            found=[marked_up(p) for p in found.get(name, [])],
            measured_on=without_folders(origin(results)),
            file=Path(results.path).name,
            commands=commands(results),
        )


def experiments(paths: Iterable[Path], found: dict[str, list[str]]) -> list[Shown]:
    """Those of some files, in the order in which the program lists them; unknown ones last."""
    shown: list[Shown] = []
    for path in paths:
        results = read(path)
        for note in results.notes:
            say("report", note)
        shown += _of_file(results, found)
    order = {name: i for i, name in enumerate(FIGURES)}
    return sorted(shown, key=lambda one: order.get(one.name, len(order)))


def page(folder: Path) -> str:
    """The whole page."""
    readme = folder / FOUND
    found = sections(readme.read_text(encoding="utf-8")) if readme.is_file() else {}
    shown = experiments(files(folder), found)
    if not shown:
        raise ResultsError(f"{folder}: none of its files has a row of an experiment")
    return render("experiments.html", title="attnbench: what the experiments show", shown=shown)
