#!/usr/bin/env bash
# What a build says of itself: flags with quotes are text, and the commit is that of its own repository alone.
# A system without cmocka builds the program, and the library is an archive whatever is asked for.  And a kernel that
# is listed too late is an error.
#
#   test_build_info.sh SOURCE_DIR
set -euo pipefail
source_dir=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf 'test_build_info: %s\n' "$1"
    exit 1
}

# info FOLDER FLAGS: the header.
info() {
    cmake -DOUT="$dir/info.h" -DSOURCE="$1" -DVERSION=1 -DTYPE=Release -DFLAGS="$2" -DCOMPILER=cc \
        -P "$source_dir/harness/base/build_info.cmake"
    cat "$dir/info.h"
}

said=$(info "$dir" '-DNAME="a b" -DPATH=\x')
[[ $said == *'#define BUILD_FLAGS "-DNAME=\"a b\" -DPATH=\\x"'* ]] || fail "flags: $said"

git=(git -C "$dir" -c user.name=test -c user.email=test@example.org)
"${git[@]}" init -q
"${git[@]}" commit -q --allow-empty -m outer
commit=$("${git[@]}" rev-parse HEAD)
[[ $(info "$dir" '') == *"BUILD_COMMIT \"$commit\""* ]] || fail 'its own repository'
mkdir "$dir/inner"
[[ $(info "$dir/inner" '') == *'BUILD_COMMIT ""'* ]] || fail 'the repository around an archive'

mkdir "$dir/copy"
tar -C "$source_dir" --exclude=./build --exclude=./results --exclude=.git --exclude='./.venv*' -cf - . | tar -C "$dir/copy" -xf -
printf '#!/bin/sh\ncase "$*" in *cmocka*) exit 1 ;; esac\nexec pkg-config "$@"\n' >"$dir/pkg-config"
chmod +x "$dir/pkg-config"
configure=(cmake -S "$dir/copy" -B "$dir/build" -D PKG_CONFIG_EXECUTABLE="$dir/pkg-config")
said=$("${configure[@]}" -D BUILD_SHARED_LIBS=ON 2>&1) || fail "the program needs cmocka: $said"
grep -rq 'attnbench::attention STATIC IMPORTED' "$dir/build/kernels/CMakeFiles/Export" || fail 'a shared library'
[[ $said != *cmocka* ]] || fail "cmocka is looked for though nobody asked for tests: $said"
said=$("${configure[@]}" -D BUILD_TESTING=ON 2>&1) || fail "where tests are asked for the program needs cmocka: $said"
[[ $said == *'cmocka not found: no tests'* ]] || fail "nothing of cmocka: $said"

printf 'attn_kernel(late baseline)\n' >>"$dir/copy/kernels/CMakeLists.txt"
! said=$("${configure[@]}" 2>&1) || fail 'a late kernel is taken'
said=$(tr -s ' \n' ' ' <<<"$said")
[[ $said == *'attn_kernel(late ...) stands behind attn_write_registry()'* ]] || fail "a late kernel: $said"
