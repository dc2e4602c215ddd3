#!/usr/bin/env bash
# Tests scripts/capture: its parts, and that the shipped tensors are what it captures today.
# Needs its environment (90 MB); exits 77, skipped, where that was never set up.
#
#   tests/scripts/capture/test_capture.sh SOURCE_DIR
set -euo pipefail
cd "$1"
data=tests/data
python=.venv-capture/bin/python
if [[ ! -x $python ]]; then
    echo "skipped: no .venv-capture here (scripts/setup --python capture)"
    exit 77
fi

PYTHONPATH=scripts "$python" -B tests/scripts/capture/layers.py

scripts/capture --compare --text $data/gettysburg.txt --layers 0,3 --heads 0-3 \
    $data/minilm-gettysburg.safetensors
scripts/capture --compare --text $data/preamble.txt --layers 1 --heads 8,9 --weights \
    $data/minilm-preamble.safetensors
status=0
scripts/capture --compare --text $data/preamble.txt --layers 1 --heads 8,7 --weights \
    $data/minilm-preamble.safetensors || status=$?
if [[ $status != 1 ]]; then
    echo "head 7 instead of head 9: exit code $status, not 1"
    exit 1
fi
