"""Python tools of attnbench; each has its entry point in scripts/."""

import os
import sys
import traceback
from types import TracebackType

# An error of a tool itself (EX_SOFTWARE of sysexits.h).  Python's own 1 would mean "confirmed
# regression" to whoever called the gate.
INTERNAL = 70


def _internal(kind: type[BaseException], wrong: BaseException, where: TracebackType | None) -> None:
    """Ends a program that failed where nothing foresaw it, also while it imports its modules."""
    traceback.print_exception(kind, wrong, where)
    sys.stderr.flush()
    os._exit(130 if issubclass(kind, KeyboardInterrupt) else INTERNAL)


sys.excepthook = _internal
