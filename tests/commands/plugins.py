"""Sessions with plug-ins of tests/plugins/, for the tests of plug-ins."""

import hashlib
import os
import pathlib
import subprocess

from command import BRIEF, TINY, CommandTest, Row, cells, run

PLUGINS = pathlib.Path(os.environ["ATTNBENCH_PLUGINS"])


def digest(path: str | pathlib.Path) -> str:
    """As rows have it."""
    return "sha256:" + hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class PluginTest(CommandTest):
    """A test of sessions with plug-ins."""

    def plugin(self, name: str) -> str:
        """The path of a plug-in of tests/plugins/."""
        return str(PLUGINS / f"{name}.so")

    def session(
        self, *more: str, problem: str = TINY, command: str = "run", kernels: str = "naive,plugins"
    ) -> tuple[subprocess.CompletedProcess[str], dict[str, Row]]:
        """One session on one thread; how it ended, and its rows by kernel."""
        words = [command, "--problem", problem, "--threads", "1", "--output", self.output]
        words += ["--kernel", kernels, *more, *(BRIEF if command == "run" else [])]
        done = run(*words)
        rows = cells(self.output) if pathlib.Path(self.output).exists() else {}
        return done, {kernel: row for (_, kernel, _), row in rows.items()}
