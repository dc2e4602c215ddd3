"""One launch of a build, as a command of attnbench, and what its results file has."""

import json
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from attntools.base.cli import ToolError, say
from attntools.gate.gate_builds import TOOL, Build
from attntools.results.cells import Results
from attntools.results.results import read
from attntools.results.schema import EXIT

# How often an implausible launch is repeated.
RETRIES = 2

# Seconds between two lines about progress in a log.
EVERY_S = 60.0

# Seconds between two looks at what a launch says, and what it says while another session measures.
POLL_S = 0.5
QUEUED = "is measuring on this machine: waiting"

# How long a launch waits for another session: most take minutes, and a CI's job may last an hour.
WAIT_S = 1800.0


def _lines(said: bytes) -> list[str]:
    return said.decode(errors="replace").strip().splitlines()


def _run(command: Sequence[str], environment: dict[str, str]) -> tuple[int, bytes]:
    """Runs a command; its exit code and what it said.

    Where it waits for another session it is told at once, and each minute how long it takes.

    Raises:
        ToolError: it has waited for WAIT_S.
    """
    pipe = subprocess.PIPE
    start = told = time.monotonic()
    queued = False
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment
    ) as running:
        while True:
            try:
                said = running.communicate(timeout=POLL_S)[1]
                return running.returncode, said
            except subprocess.TimeoutExpired as waiting:
                last = next(iter(_lines(waiting.stderr or b"")[-1:]), "no word from it yet")
                now = time.monotonic()
                if QUEUED in last and now - start > WAIT_S:
                    running.kill()
                    why = f"another session measures for more than {WAIT_S / 60:.0f} minutes"
                    raise ToolError(f"{why}: {last.split(': waiting')[0]}") from None
                if now - told >= EVERY_S or (QUEUED in last and not queued):
                    told, queued = now, True
                    say(TOOL, f"one launch, {now - start:.0f} s so far: {last.split(' (--')[0]}")
            except BaseException:
                running.kill()
                raise


def launch(
    build: Build, arguments: Sequence[str], output: Path, begun: Path | None = None
) -> Results:
    """Runs a command of attnbench and reads its results.

    Args:
        build: its program, the plug-ins and settings that it is run with.
        arguments: its command and options.
        output: where its results go.
        begun: a session to go on with, whose checks stand; see begin().

    Raises:
        ToolError: it could not be started, or ended with usage or input/output.
    """
    output.unlink(missing_ok=True)
    if begun:
        shutil.copyfile(begun, output)
    program, journal = build.program, "--resume" if begun else "--output"
    settings = build.settings.options()  # of a side, in place of what the arguments say
    command = [str(program), *arguments, *settings, *build.words(), journal, str(output)]
    try:
        code, said = _run(command, build.environment())
    except OSError as wrong:
        raise ToolError(f"{program}: {wrong.strerror}") from None
    if code not in (EXIT["as-asked"], EXIT["kernel"]):
        raise ToolError(f"{program} ended with {code}: " + " / ".join(_lines(said)[-3:]))
    return build.plain(read(output))


def begin(results: Path, begun: Path) -> None:
    """Keeps only the checks of a session, as if it had been killed before its first launch.

    To resume it launches its cells without checking them once more against float64, which takes
    longer than a launch; rows of the timed calls are verified in every launch all the same.
    """
    lines = results.read_bytes().splitlines()
    checks = [line for line in lines[1:] if line.startswith(b'{"type":"check"')]
    # The cells to launch come from the command that resumes it: only the name `run` is needed here.
    session = json.loads(lines[0]) | {"command": ["run"]}
    begun.write_bytes(b"\n".join([json.dumps(session).encode(), *checks, b""]))


def launch_believably(
    build: Build, arguments: Sequence[str], output: Path, begun: Path | None = None
) -> Results:
    """As launch(), again where a row was implausible, twice at most.

    A launch is implausible if the kernel ran faster than the probes beside it say that the machine
    can: a neighbour took the CPU from the probe.  A kernel that cheats does so every time.
    """
    for _ in range(RETRIES):
        results = launch(build, arguments, output, begun)
        if all(cell.state != "implausible" for cell in results.cells.values()):
            return results
    return launch(build, arguments, output, begun)
