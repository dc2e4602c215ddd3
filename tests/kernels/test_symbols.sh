#!/bin/sh
# Each object that is compiled once per ISA exports one symbol, its own: two variants that shared
# another one would be linked to the same code, and the weaker ISA would run the stronger's.
#
#   test_symbols.sh NM SYMBOL=OBJECT...
set -eu
nm=$1
shift
status=0
for pair; do
    symbol=${pair%%=*} object=${pair#*=}
    # __odr_asan.*: what the address sanitizer adds for each global
    found=$("$nm" --defined-only --extern-only --format=posix "$object" |
        cut -d' ' -f1 | grep -v '^__odr_asan' | tr '\n' ' ')
    if [ "$found" != "$symbol " ]; then
        echo "$object exports '$found', not '$symbol '"
        status=1
    fi
done
exit $status
