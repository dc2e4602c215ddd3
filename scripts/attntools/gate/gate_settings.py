"""Settings of the two sides of a gate: options of attnbench and environment variables.

One build under two settings is compared as two builds are: the cells of both sides are named alike,
by the fields of their identity that neither sets, and each launch gets the settings of its side.
"""

import argparse
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from attntools.base.cli import ToolError
from attntools.results.schema import USUAL

# What may be set: the option's field of a row's identity, and whether a value follows it.
OPTIONS = {
    "--placement": ("placement", True),
    "--memory": ("memory", True),
    "--huge-pages": ("huge_pages", False),
    "--cold": ("cache", False),
}
PADDING = "ATTNBENCH_GATE_PADDING"
VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class Settings:
    """What one side is run with beside the selection."""

    words: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    fields: frozenset[str] = frozenset()  # of an identity, that its words set
    padding: int = 0  # bytes by which the other side's environment is longer

    def __str__(self) -> str:
        """As they are read."""
        return " ".join([*(f"{name}={value}" for name, value in self.environment), *self.words])

    def options(self) -> list[str]:
        """Those of attnbench run; workers get what it sets for them itself only from these."""
        set_here = shlex.join(f"{name}={value}" for name, value in self.environment)
        return [*self.words, *(("--environment", set_here) if set_here else ())]

    def variables(self, around: Mapping[str, str]) -> dict[str, str]:
        """The environment of its side.

        Where the stack begins depends on how long that is, and moves times by per cents (Mytkowicz
        et al. 2009): both sides' are made equally long.
        """
        own = {**around, **dict(self.environment)}
        return own | {PADDING: "x" * self.padding} if self.padding else own


NONE = Settings()


SIDES = ("--base-options", "--new-options")


def joined(argv: Sequence[str]) -> list[str]:
    """A command line in which a side's options are its value even where they begin with --."""
    words, out = list(argv), []
    while words:
        word = words.pop(0)
        out.append(f"{word}={words.pop(0)}" if word in SIDES and words else word)
    return out


def add_to(p: argparse.ArgumentParser) -> None:
    """Adds the options of both sides."""
    for side in SIDES:
        p.add_argument(
            side, default="", metavar="'...'",
            help="settings of this side alone: variables (NAME=VALUE), then options of attnbench "
            f"run: {', '.join(OPTIONS)}",
        )  # fmt: skip


def parse(side: str, text: str) -> Settings:
    """The settings in a text, as a shell splits it.

    Raises:
        ToolError: it names something that is no setting.
    """
    where = f"--{side}-options"
    try:
        words = shlex.split(text)
    except ValueError as wrong:
        raise ToolError(f"{where}: {wrong}") from None
    environment, options, fields = {}, [], set()
    while words and (found := VARIABLE.fullmatch(words[0])):
        environment[found[1]] = found[2]
        fields.add("environment")
        words.pop(0)
    while words:
        name = words.pop(0)
        if VARIABLE.fullmatch(name):
            raise ToolError(f"{where}: {name} follows an option; variables come first")
        if name not in OPTIONS:
            raise ToolError(f"{where}: {name} is none of NAME=VALUE, {', '.join(OPTIONS)}")
        field, takes_value = OPTIONS[name]
        if takes_value and not words:
            raise ToolError(f"{where}: {name} needs a value")
        options += [name, *([words.pop(0)] if takes_value else [])]
        fields.add(field)
    return Settings(tuple(options), tuple(environment.items()), frozenset(fields))


def of_both(options: argparse.Namespace) -> tuple[Settings, Settings]:
    """The settings of both sides.

    Raises:
        ToolError: they cannot be compared so.
    """
    base, new = parse("base", options.base_options), parse("new", options.new_options)
    both = base.fields | new.fields
    for name, (field, _) in OPTIONS.items():
        if field in both and getattr(options, field, None):
            raise ToolError(f"{name} is an option of a side here: say it in both --...-options")
    if (str(base) or str(new)) and options.metric == "instructions":
        raise ToolError("settings are compared by their time, not by instructions")
    return padded(base, new)


def _bytes(settings: Settings) -> int:
    """Of its environment on a stack: texts, and a pointer to each."""
    found = settings.variables(os.environ)
    return sum(len(os.fsencode(f"{name}={value}")) + 1 + 8 for name, value in found.items())


def padded(base: Settings, new: Settings) -> tuple[Settings, Settings]:
    """Both, with environments of the same length where theirs differ."""
    sizes = _bytes(base), _bytes(new)
    if sizes[0] == sizes[1]:
        return base, new
    longest = max(sizes) + 1  # that each is padded by one at least
    return replace(base, padding=longest - sizes[0]), replace(new, padding=longest - sizes[1])


def alike(fields: frozenset[str]) -> dict[str, object]:
    """The fields that sides set, as cells of both have them: as if nothing had been set."""
    return {name: USUAL[name] for name in fields}
