"""Pages name what exists: links of every page, files and functions of docs/TOUR.md."""

import re
from pathlib import Path

import pytest
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("results/**/*.md")),
]
LINK = re.compile(r"\]\(([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FILE = re.compile(r"`([\w./]+\.(?:c|h|py|json|md))`")
# NAME stands for whatever is added.
NAMED = [n for n in FILE.findall((ROOT / "docs/TOUR.md").read_text()) if "NAME" not in n]
FUNCTION = re.compile(r"\b([a-z_]+)\(\)")


def anchors(page: Path) -> set[str]:
    """What a link to a heading of this page has behind its #, as GitHub makes it."""
    headings = HEADING.findall(page.read_text())
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_somewhere(page: Path, link: str) -> bool:
    """Whether the file of a link is there and has its heading."""
    file, _, anchor = link.partition("#")
    target = page.parent / file if file else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    assert [link for link in links if not leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", ["README.md", "docs/attention.md", "docs/TOUR.md"])
def test_commands_can_be_given_twice(page: str) -> None:
    """A results file that is there is replaced where --force says so alone."""
    text = (ROOT / page).read_text().replace("\\\n", " ")
    writes = [
        line
        for line in text.splitlines()
        if re.match(r" {4}\S*(attnbench (run|experiment)|scripts/bench) .*--output ", line)
    ]
    assert writes
    assert [line for line in writes if "--force" not in line] == []


def test_the_page_on_eval_writes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _ = re.findall(r"```python\n(.*?)```", (ROOT / "docs/eval.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/eval.md", "exec"), {})
    found = load_file("in.safetensors")
    assert {name: (t.shape, str(t.dtype)) for name, t in found.items()} == {
        **dict.fromkeys("qkv", ((1, 8, 512, 64), "float32")),
        "mask": ((512, 512), "bool"),
    }
    assert found["mask"][3].tolist() == [True] * 4 + [False] * 508


def test_the_tour_names_files_that_exist() -> None:
    assert len(NAMED) > 50
    assert [
        n for n in NAMED if not any((ROOT / top / n).exists() for top in ("harness", "."))
    ] == []


def test_the_tour_names_functions_that_exist() -> None:
    sources = "".join(
        path.read_text() for top in ("harness", "kernels") for path in (ROOT / top).rglob("*.[ch]")
    )
    names = set(FUNCTION.findall((ROOT / "docs/TOUR.md").read_text()))
    assert len(names) > 30
    assert [n for n in sorted(names) if not re.search(rf"\b{n}\(", sources)] == []
