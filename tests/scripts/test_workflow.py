"""The shell of the workflow's gate, run with programs that answer as they are told."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import fake
import pytest

WORKFLOW = Path(__file__).resolve().parents[2] / ".github/workflows/attnbench.yml"

GATE = """#!/bin/sh
echo "$@" >>asked
case "$*" in *instructions*) metric=instructions code=$COUNTED;; *) metric=time code=$TIMED;; esac
[ $code = 4 ] || echo "answer by $metric" >part.md
exit $code
"""


def script(step: str) -> str:
    """What a step of the workflow runs."""
    text = WORKFLOW.read_text()
    (found,) = re.findall(rf"- name: {step}\n.*?run: \|\n(.*?)\n      - ", text, flags=re.DOTALL)
    return textwrap.dedent(found)


def ran(
    step: str, folder: Path, programs: dict[str, str], **environment: object
) -> subprocess.CompletedProcess[str]:
    """A step in a folder whose programs answer as they are told; as `shell: bash` runs it."""
    for name, text in programs.items():
        fake.script(folder / name, text)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script(step)],
        cwd=folder, check=False, capture_output=True, text=True,
        env=os.environ | {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            **{name: str(value) for name, value in environment.items()},
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("timed", "counted", "code", "summary"),
    [
        (0, 9, 0, ["time"]),
        (1, 9, 1, ["time"]),
        (2, 9, 2, ["time"]),
        (3, 0, 0, ["time", "instructions"]),
        (3, 1, 1, ["time", "instructions"]),
        (3, 4, 4, ["time"]),
        (4, 9, 4, []),
        (5, 9, 0, ["time"]),
        (6, 9, 6, ["time"]),
        (7, 9, 0, ["time"]),
        (70, 9, 70, ["time"]),
    ],
)
def test_gate_step(tmp_path: Path, timed: int, counted: int, code: int, summary: list[str]) -> None:
    programs = {"scripts/gate": GATE, "git": "#!/bin/sh\necho c0ffee\n"}
    done = ran("gate against the merge base", tmp_path, programs, GITHUB_BASE_REF="main",
               TIMED=timed, COUNTED=counted)  # fmt: skip
    assert done.returncode == code
    assert ("no base to compare with" in done.stdout) == (timed == 5)
    assert ("removed or renamed" in done.stdout) == (timed == 7)
    said = "".join(f"answer by {metric}\n" for metric in summary)
    for name in ("gate.md", "summary.md"):
        path = tmp_path / name
        assert (path.read_text() if path.exists() else "") == said
    first = (tmp_path / "asked").read_text().splitlines()[0]
    assert first == (
        "--base c0ffee --new HEAD --kernel ours --fail-on removed --output part.md"
        " --junit gate-time.xml"
    )


GH = """#!/bin/sh
case "$*" in
*--jq*) [ -z "$KNOWN" ] || printf '%s\\n' $KNOWN;;
*) echo "$@" >>asked;;
esac
"""


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("", "api repos/o/r/issues/7/comments -F body=@comment.md"),
        ("41 42", "api --method PATCH repos/o/r/issues/comments/41 -F body=@comment.md"),
    ],
)
def test_one_comment_that_is_written_anew(tmp_path: Path, known: str, asked: str) -> None:
    (tmp_path / "gate.md").write_text("### summary\n")
    done = ran("comment", tmp_path, {"gh": GH}, GITHUB_REPOSITORY="o/r", NUMBER=7, KNOWN=known)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "asked").read_text() == f"{asked}\n"
    assert (tmp_path / "comment.md").read_text() == "<!-- attnbench gate -->\n### summary\n"


HISTORY = """#!/bin/sh
case "$1" in trend) echo followed; exit $TREND;; esac
"""
GH_OF_RELEASES = """#!/bin/sh
case "$*" in *history.sqlite*) exit $UPLOAD;; esac
"""


@pytest.mark.parametrize(
    ("trend", "upload", "code", "said"),
    [
        (0, 0, 0, []),
        (1, 0, 0, ["main became slower"]),
        (4, 0, 4, []),
        (0, 1, 0, ["the history was not uploaded"]),
    ],
)
def test_record_step(tmp_path: Path, trend: int, upload: int, code: int, said: list[str]) -> None:
    """A slow-down is a warning, and so is another run that replaces the history meanwhile."""
    quiet = dict.fromkeys(("scripts/report", "scripts/export"), "#!/bin/sh\n")
    programs = {"gh": GH_OF_RELEASES, "scripts/history": HISTORY, **quiet}
    done = ran("record", tmp_path, programs, GITHUB_RUN_ID=7, RELEASE="history", TREND=trend,
               UPLOAD=upload)  # fmt: skip
    assert done.returncode == code, done.stderr
    warned = [line.split("::")[2] for line in done.stdout.splitlines() if "::warning" in line]
    assert [w.split(";")[0] for w in warned] == said
    assert (tmp_path / "summary.md").read_text() == "```\nfollowed\n```\n"


def jobs() -> dict[str, str]:
    """The text of each job."""
    text = WORKFLOW.read_text().split("\njobs:\n")[1]
    parts = re.split(r"^  (\w+):\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_nothing_moves_beneath_the_workflow() -> None:
    """Actions by commit, images by digest, and no credentials left in a checkout."""
    text = WORKFLOW.read_text()
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+(\.\d+)+", comment), action
    for image in re.findall(r"container: (\S+)", text):
        assert re.fullmatch(r"debian:12@sha256:[0-9a-f]{64}", image), image
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")
    for run in re.findall(r"run: \|\n(.*?)\n      - ", text, flags=re.DOTALL):
        assert "${{" not in run  # what a pull request's author chose would be run


def test_no_run_of_main_is_lost() -> None:
    text = WORKFLOW.read_text()
    assert (
        "group: ${{ github.workflow }}-${{ github.event.pull_request.number || github.run_id }}"
        in (text)
    )
    history = jobs()["history"]
    assert "concurrency" not in history
    assert "actions/cache" not in history  # what lies there goes after some days
    assert "gh release upload" in history
    assert "scripts/report results-local/history.sqlite" in history
    for name in ("gate", "history"):
        upload = jobs()[name].split("actions/upload-artifact@")[1]
        assert "if: always()" in upload


def test_the_image_is_pinned_and_not_root() -> None:
    text = (WORKFLOW.parents[2] / "Containerfile").read_text()
    assert re.search(r"^ARG BASE=docker.io/library/debian:12@sha256:[0-9a-f]{64}$", text, re.M)
    assert text.index("\nUSER attnbench\n") > text.index("scripts/build check")


@pytest.mark.parametrize(("worktree", "code"), [(False, 0), (True, 1)])
def test_an_image_of_a_worktree_is_refused(tmp_path: Path, worktree: bool, code: int) -> None:
    """Its .git is a file that leads out of the image: results would name no commit."""
    text = (WORKFLOW.parents[2] / "Containerfile").read_text()
    (check,) = re.findall(r"^RUN (\[ ! -f \.git \].*?)$", text, flags=re.MULTILINE)
    if worktree:
        (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    done = subprocess.run(
        ["sh", "-c", check], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == code
    assert ("git clone" in done.stderr) == worktree
