"""Results files of nodes, as schedulers' jobs leave them."""

import json
from dataclasses import dataclass
from pathlib import Path

from attntools.base.cli import reason
from attntools.base.files import replacing
from attntools.results.cells import ResultsError
from attntools.results.results import read


@dataclass
class FileState:
    """Whether a node's file is whole.

    `foreign` says why it is not of this command, `unreadable` what is wrong where in one that is
    there.
    """

    whole: bool = False
    foreign: str = ""
    unreadable: str = ""


def state_of(path: Path, arguments: list[str]) -> FileState:
    """What a job has left.

    Args:
        path: the file; it may be missing or hold half a line.
        arguments: of `attnbench run`.
    """
    try:
        results = read(path)
    except (OSError, ResultsError) as wrong:
        return FileState(unreadable=reason(wrong) if path.exists() else "")
    command = results.sessions[0].header.get("command") or []
    if command[1 : 1 + len(arguments)] != arguments or command[1 + len(arguments) :][:1] not in (
        [],
        ["--output"],
    ):
        return FileState(foreign=f"has results of another command ({' '.join(command)})")
    return FileState(whole=results.complete)


def name_node(path: Path, node: str) -> None:
    """Writes the scheduler's name of the host into a file's session lines.

    A machine-id is no name for people, and nodes that boot one image share it.
    """
    with path.open("rb") as lines, replacing(str(path)) as aside, aside.open("wb") as out:
        for line in lines:
            if b'"type":"session"' in line[:200]:
                row = json.loads(line)
                row["machine"]["node"] = node
                line = json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
            out.write(line)
