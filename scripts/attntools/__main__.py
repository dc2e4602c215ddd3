"""Runs a tool, as scripts/tool does: python -m attntools attntools.compare.compare FILE."""

import sys
from importlib import import_module

from attntools.base.cli import guard

tool = import_module(sys.argv.pop(1))
guard(tool.TOOL, tool.run)
