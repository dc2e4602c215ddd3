"""The report in headless Chromium: light and dark, without scripts, narrow, sorted, filtered."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
import sample
from attntools.report import page_experiments, report
from attntools.report.page import HERE
from matplotlib.image import imread

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="needs chromium (apt-get install --no-install-recommends chromium)"
)

# As the policy stands in an attribute.
SCRIPTS, NO_SCRIPTS = (f"script-src &#39;{word}&#39;" for word in ("unsafe-inline", "none"))

WIDTH, HEIGHT = 1200, 900
LIGHT, DARK = 1, 0  # Chromium's numbers for prefers-color-scheme

# What a reader does, and what the page shows then; runs after the page's own script.
ACTIONS = """
const table = document.querySelector("table.cells");
const column = (i) => Array.from(table.tBodies[0].rows).filter((row) => !row.hidden)
  .map((row) => row.cells[i].textContent);
const head = (name) => Array.from(table.tHead.rows[0].cells)
  .find((cell) => cell.textContent === name).querySelector("button");
const filter = document.querySelector("input[type=search]");
const type = (text) => { filter.value = text; filter.dispatchEvent(new Event("input")); };
const choose = (name, value) => {
  const select = document.querySelector(`select[name=${name}]`);
  select.value = value; select.dispatchEvent(new Event("change"));
};
const seen = {start: column(3)};
head("median").click(); seen.ascending = column(3);
head("median").click(); seen.descending = column(3);
head("kernel").click(); seen.kernels = column(1);
type("GEMM  avx2"); seen.filtered = column(1);
type("gemm avx512"); seen.nothing = column(1);
type(""); seen.all = column(1).length;
seen.choices = Array.from(document.querySelectorAll("select")).map((select) => select.name);
choose("threads", "2"); seen.two = column(1);
seen.count = document.querySelector("[role=status]").textContent;
choose("threads", "");
const opener = table.querySelector("details");
opener.open = true; opener.dispatchEvent(new Event("toggle"));
seen.detail = table.querySelector("tr.detail").textContent;
seen.wide = document.documentElement.scrollWidth;
seen.images = Array.from(document.images).map((image) => image.naturalWidth > 0);
const out = document.createElement("pre");
out.id = "seen"; out.textContent = JSON.stringify(seen); document.body.append(out);
"""


def chromium(page: Path, *options: str) -> str:
    """Opens a page; returns what Chromium writes."""
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--proxy-server=127.0.0.1:9",  # nothing answers there: the page is offline
        f"--user-data-dir={page.parent / 'profile'}", f"--window-size={WIDTH},{HEIGHT}",
        *options, page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A report of five cells, one of them wrong."""
    path = sample.write(
        tmp_path / "a.jsonl",
        sample.session(),
        sample.cell([2e-3] * 8, kernel="flash"),
        sample.cell([900e-6] * 8, kernel="gemm"),
        sample.cell([11e-3] * 8, kernel="naive"),
        sample.cell([1e-3] * 8, kernel="flash", threads=2),
        sample.cell(kernel="bad", state="failed"),
    )
    out = tmp_path / "report.html"
    out.write_text(report.page([str(path)]))
    return out


Shot = Callable[..., np.ndarray]


@pytest.fixture
def shot(page: Path) -> Shot:
    """Takes a picture of the page, as (height, width, rgb) from 0 to 1."""

    def take(scheme: int) -> np.ndarray:
        picture = page.with_suffix(".png")
        settings = f"--blink-settings=preferredColorScheme={scheme}"
        chromium(page, settings, f"--screenshot={picture}")
        return imread(picture)[..., :3]

    return take


def colour(text: str) -> np.ndarray:
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def css(name: str, scheme: int) -> np.ndarray:
    """A colour of the page's style: the first definition is light, the second dark."""
    found = re.findall(rf"--{name}: (#\w{{6}})", (HERE / "page.css").read_text())
    return colour(found[0 if scheme == LIGHT else 1])


def share(picture: np.ndarray, wanted: np.ndarray) -> float:
    """How much of the picture has a colour, to a step of 256."""
    return float(np.mean(np.all(np.abs(picture - wanted) < 1.5 / 255, axis=-1)))


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_page_follows_the_colour_scheme(shot: Shot, scheme: int) -> None:
    picture = shot(scheme)
    assert picture.shape == (HEIGHT, WIDTH, 3)
    assert share(picture, css("paper", scheme)) > 0.5
    assert share(picture, css("line", scheme)) > 0.001  # around figures and tables
    assert 0.001 < share(picture, css("ink", scheme)) < 0.2  # text


def test_page_looks_the_same_without_scripts(shot: Shot, page: Path) -> None:
    with_scripts = shot(LIGHT)
    page.write_text(page.read_text().replace(SCRIPTS, NO_SCRIPTS))
    without = shot(LIGHT)
    for name in ("paper", "line", "ink"):
        wanted = css(name, LIGHT)
        assert share(without, wanted) == pytest.approx(share(with_scripts, wanted), abs=0.05)
    # Without the filter's box, which a script makes, all that follows it stands higher.
    assert np.any(with_scripts != without)


def test_tables_sort_and_filter(page: Path) -> None:
    text = page.read_text()
    page.write_text(text.replace("</body>", f"<script>{ACTIONS}</script></body>"))
    dom = chromium(page, "--dump-dom")
    seen = json.loads(unescape(re.search('<pre id="seen">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert seen["start"] == ["", "2.00 ms", "1.00 ms", "900 us", "11.0 ms"]
    assert seen["ascending"] == ["900 us", "1.00 ms", "2.00 ms", "11.0 ms", ""]
    assert seen["descending"] == ["11.0 ms", "2.00 ms", "1.00 ms", "900 us", ""]  # none: last
    assert seen["kernels"][:3] == ["bad/avx2", "flash/avx2", "flash/avx2"]
    assert seen["filtered"] == ["gemm/avx2"]
    assert seen["nothing"] == []
    assert seen["all"] == 5
    assert seen["choices"] == ["threads", "kernel", "state"]  # kind and type are all the same
    assert seen["two"] == ["flash/avx2"]
    assert seen["count"] == "1 of 5"
    assert "attnbench run --problem" in seen["detail"]
    assert len(seen["images"]) >= 2
    assert all(seen["images"])


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_no_page_is_wider_than_its_window(page: Path, width: int) -> None:
    text = page.read_text()
    page.write_text(text.replace("</body>", f"<script>{ACTIONS}</script></body>"))
    dom = chromium(page, "--dump-dom", f"--window-size={width},800")
    seen = json.loads(unescape(re.search('<pre id="seen">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert seen["wide"] <= max(width, 500)  # headless windows are no narrower


def test_page_may_load_nothing(page: Path) -> None:
    other = page.with_name("other.svg")
    other.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    text = page.read_text()
    image = f'<img src="{other.as_uri()}">'
    script = '<script>document.title = "width " + document.images[0].naturalWidth;</script>'

    def title(html: str) -> str:
        page.write_text(html)
        return re.search("<title>(.*?)</title>", chromium(page, "--dump-dom"))[1]

    added = text.replace("<body>", f"<body>{image}").replace(
        "</body>", f"<script>onload = () => {{ {script[8:-9]} }}</script></body>"
    )
    assert title(added) == "width 0"
    assert title(added.replace("default-src &#39;none&#39;; img-src data:;", "")) == "width 9"


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_experiments_fit_their_window(tmp_path: Path, width: int) -> None:
    row = sample.experiment(
        "layer", {"part": "time", "s": 64, "d_model": 256, "threads": 2},
        attention_share=0.5, ci95=[0.4, 0.6],
    )  # fmt: skip
    sample.write(tmp_path / "layer.jsonl", sample.session(), row)
    page = tmp_path / "page.html"
    see = """<script>document.title = [document.documentElement.scrollWidth,
      document.images.length, document.images[0].naturalWidth > 0]</script>"""
    page.write_text(page_experiments.page(tmp_path).replace("</body>", f"{see}</body>"))
    dom = chromium(page, "--dump-dom", f"--window-size={width},800")
    wide, images, whole = re.search("<title>(.*?)</title>", dom)[1].split(",")
    assert int(wide) <= max(width, 500)  # headless windows are no narrower
    assert (images, whole) == ("1", "true")
