"""JUnit XML, as CI systems show it: suites of cases that passed, failed or were skipped."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from attntools.results.soundness import PICTURES

OUTCOMES = {"failure": "failures", "error": "errors", "skipped": "skipped"}


@dataclass
class Case:
    """One cell: its class, name, time and outcome."""

    classname: str
    name: str
    seconds: float | None = None
    outcome: str | None = None  # of OUTCOMES; None: it passed
    message: str = ""


def _text(text: str) -> str:
    """What XML may have: a name of a file may be neither UTF-8 nor free of control characters."""
    return os.fsencode(text).decode(errors="replace").translate(PICTURES)


def document(name: str, suites: Iterable[tuple[str, Sequence[Case]]]) -> str:
    """The whole file.

    Args:
        name: of the tool.
        suites: their titles and cases.
    """
    root = ElementTree.Element("testsuites", name=name)
    for title, cases in suites:
        suite = ElementTree.SubElement(root, "testsuite", name=_text(title), tests=str(len(cases)))
        for c in cases:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_text(c.classname), name=_text(c.name)
            )
            if c.seconds is not None:
                case.set("time", f"{c.seconds:.9g}")
            if c.outcome:
                ElementTree.SubElement(case, c.outcome, message=_text(c.message))
        counts = Counter(c.outcome for c in cases)
        for outcome, key in OUTCOMES.items():
            suite.set(key, str(counts[outcome]))
    ElementTree.indent(root)
    # The declaration that ElementTree writes names the locale's encoding; files are UTF-8.
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, 'unicode')}\n"
