#!/usr/bin/env bash
# Tests the Python tools.  Needs their environment; exits 77, skipped, where that was never set up.
#
#   tests/scripts/test_python.sh SOURCE_DIR PYTEST-ARGUMENT...
set -euo pipefail
cd "$1"
if [[ ! -x .venv/bin/pytest ]]; then
    echo "skipped: no .venv here (scripts/setup --python tools)"
    exit 77
fi
PYTHONPATH=scripts exec .venv/bin/pytest -q -p no:cacheprovider --ignore tests/scripts/cluster "${@:2}"
