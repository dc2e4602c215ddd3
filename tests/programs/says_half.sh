#!/bin/sh
# Computes honestly, and says half of the time that it took.
"$(dirname "$0")/honest.pl" 4>&1 1>&2 |
    perl -pe 'BEGIN { $| = 1 } s/"seconds":([^,}]*)/q("seconds":) . $1 \/ 2/e' >&4
