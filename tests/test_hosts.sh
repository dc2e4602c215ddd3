#!/usr/bin/env bash
# When the build is configured: variants that this host cannot run are left out where that is asked for, and a compiler
# for a 32-bit or a big-endian system is refused, with the reason.
#
#   test_hosts.sh SOURCE_DIR
#
# Exit 77: clang-14, which compiles for any of them, is not installed.
set -euo pipefail
source_dir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# As on a host that has nothing beyond the baseline.
ATTN_ISA_MASK=baseline cmake -S "$source_dir" -B "$dir/host" -D ATTNBENCH_OTHER_VARIANTS=none >"$dir/log" 2>&1 ||
    { cat "$dir/log" && exit 1; }
built=$(sed 's/.*, \(.*\))/\1/' "$dir/host/kernels/registry_list.h" | sort -u)
[[ $built == baseline || $built == neon ]] || { printf 'test_hosts: built for %s\n' "$built" && exit 1; }

command -v clang-14 >/dev/null || exit 77

# refuses TARGET REASON: without linking, as there are no libraries of TARGET.
refuses() {
    local said
    ! said=$(cmake -S "$source_dir" -B "$dir/$1" -D CMAKE_C_COMPILER=clang-14 -D CMAKE_C_COMPILER_TARGET="$1" \
        -D CMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY 2>&1) ||
        { printf 'test_hosts: %s is taken\n' "$1" && exit 1; }
    said=$(tr -s ' \n' ' ' <<<"$said")
    [[ $said == *"$2"* ]] || { printf 'test_hosts: %s: no word of %s:\n%s\n' "$1" "$2" "$said" && exit 1; }
}

refuses i686-linux-gnu 'attnbench needs a 64-bit system'
refuses armv7-linux-gnueabihf 'compiles for one of 32 bits'
refuses powerpc64-linux-gnu 'attnbench needs a little-endian system'
refuses aarch64_be-linux-gnu 'compiles for a big-endian one'
