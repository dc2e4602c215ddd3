"""A page of scripts/report, parsed: elements nest, and nothing comes from outside."""

from html.parser import HTMLParser
from pathlib import Path

from attntools.report import report
from conftest import Tool

VOID = {"meta", "input", "img", "br", "path"}


class Page(HTMLParser):
    """Checks that elements nest, and collects the cells of tables and all links outside."""

    def __init__(self, text: str) -> None:
        """Parses the text whole."""
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.outside: list[str] = []
        self.attributes: list[dict[str, str | None]] = []  # of the rows
        self.alts: list[str | None] = []
        self.sources: list[str] = []
        self.headings: list[str] = []
        self.said: list[str] = []  # paragraphs of the headline
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of a drawing, which holds nothing."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element, row, heading or paragraph begins."""
        for name, value in attrs:
            if name in ("src", "href") and not (value or "").startswith(("#", "data:")):
                self.outside.append(value or "")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
            self.attributes.append(dict(attrs))
        if tag == "img":
            self.sources.append(dict(attrs).get("src") or "")
            self.alts.append(dict(attrs).get("alt"))
        if tag in ("h1", "h2"):
            self.headings.append("")
        if tag == "p":
            self.said.append("")
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """The element that was opened last ends."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text joins the cell, heading or paragraph that is open."""
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
        if {"h1", "h2"} & set(self.open):
            self.headings[-1] += data
        if "p" in self.open:
            self.said[-1] += data


def page_of(tool: Tool, *paths: Path) -> Page:
    """The page of some files."""
    outcome = tool(report, *paths, "--output", "-")
    assert outcome.code == 0
    page = Page(outcome.out)
    assert page.outside == []
    return page
