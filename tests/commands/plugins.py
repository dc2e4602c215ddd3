"""Sessions with plug-ins of tests/plugins/, for the tests of plug-ins."""

import hashlib
import os
import pathlib
import unittest.mock

from command import TINY, CommandTest, Row

PLUGINS = pathlib.Path(os.environ["ATTNBENCH_PLUGINS"])


def digest(path: str | pathlib.Path) -> str:
    """As rows have it."""
    return "sha256:" + hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class PluginTest(CommandTest):
    """A test of sessions with plug-ins, but not with the rivals of this host."""

    def setUp(self) -> None:
        """Hides the rivals."""
        super().setUp()
        patch = unittest.mock.patch.dict(os.environ, {"ATTNBENCH_RIVALS": ""})
        patch.start()
        self.addCleanup(patch.stop)

    def plugin(self, name: str) -> str:
        """The path of a plug-in of tests/plugins/."""
        return str(PLUGINS / f"{name}.so")

    def session(
        self,
        *more: str,
        problem: str = TINY,
        command: str = "run",
        kernels: str = "naive,plugins",
        code: int | None = 0,
    ) -> dict[str, Row]:
        """One session on one thread: its rows by kernel."""
        rows = self.cells_of(command, "--problem", problem, "--kernel", kernels, *more, code=code)
        return {row["kernel"]: row for row in rows}
