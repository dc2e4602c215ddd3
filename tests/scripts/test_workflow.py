"""The shell of the workflow's gate, run with programs that answer as they are told."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

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
    ],
)
def test_gate_step(tmp_path: Path, timed: int, counted: int, code: int, summary: list[str]) -> None:
    (tmp_path / "scripts").mkdir()
    for name, text in (("scripts/gate", GATE), ("git", "#!/bin/sh\necho c0ffee\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "TIMED": str(timed),
        "COUNTED": str(counted),
    }
    # As the runner's `shell: bash` does.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    done = subprocess.run(
        [*command, script("gate against the merge base")],
        cwd=tmp_path, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code
    assert ("no base to compare with" in done.stdout) == (timed == 5)
    said = "".join(f"answer by {metric}\n" for metric in summary)
    for name in ("gate.md", "summary.md"):
        path = tmp_path / name
        assert (path.read_text() if path.exists() else "") == said
    first = (tmp_path / "asked").read_text().splitlines()[0]
    assert first == "--base c0ffee --new HEAD --kernel ours --output part.md"
