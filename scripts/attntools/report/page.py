"""What all pages share: the templates, figures inside the page, texts without folders."""

import io
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
import matplotlib.pyplot as plt
from markupsafe import Markup
from matplotlib.figure import Figure

HERE = Path(__file__).parent / "pages"

Texts = dict[str, Any]  # what a template shows of one thing, by the names that it has there

# The page may load nothing, not even by mistake: what it needs is in it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

FOLDERS = re.compile(r"(?<![\w.~])~?/(?:[^\s/'\"]+/)+")
SAFE = " <>=:;/,()'+-.!?@$*[]{}|^`~_"  # what a data URI in double quotes may hold as it is

_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)


def without_folders(text: str) -> str:
    """A text with absolute paths cut to their last parts: a page goes to other people."""
    return FOLDERS.sub("", text)


def render(template: str, **values: object) -> str:
    """A whole page."""
    return _environment.get_template(template).render(
        policy=POLICY,
        css=Markup((HERE / "page.css").read_text()),
        js=Markup((HERE / "page.js").read_text()),
        **values,
    )


def image(fig: Figure) -> str:
    """A figure as the address of an image, in the page itself."""
    out = io.StringIO()
    fig.savefig(out, format="svg", metadata={"Date": None})
    plt.close(fig)
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE[^>]*>|<\?xml[^>]*>", "",
                  out.getvalue(), flags=re.DOTALL)  # fmt: skip
    text = re.sub(r"\s+", " ", text).replace("> <", "><")
    return "data:image/svg+xml," + quote(text, safe=SAFE)
