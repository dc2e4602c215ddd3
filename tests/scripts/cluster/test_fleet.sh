#!/usr/bin/env bash
# Measures a fleet under a real Slurm of virtual nodes, with scripts/fleet/submit and with ReFrame.
# Exits 77, skipped, where Slurm is not installed or does not run.
#
#   tests/scripts/cluster/test_fleet.sh SOURCE_DIR PROGRAM [PYTEST-ARGUMENT...]
set -euo pipefail
cd "$1"
if [[ ! -x .venv/bin/pytest ]]; then
    echo "skipped: no .venv here (scripts/setup --python tools)"
    exit 77
fi
why=$(.venv/bin/python tests/scripts/cluster/cluster.py 2>&1) || {
    printf 'skipped: %s\n' "$why"
    exit 77
}
ATTNBENCH_PROGRAM=$2 PYTHONPATH=scripts exec .venv/bin/pytest -q -p no:cacheprovider "${@:3}" \
    tests/scripts/cluster
