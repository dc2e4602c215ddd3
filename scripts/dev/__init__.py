"""Tools for those who change attnbench: not needed to use it."""

import attntools  # noqa: F401  (an error of a tool itself ends with its exit code)
