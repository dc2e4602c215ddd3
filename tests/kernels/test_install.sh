#!/usr/bin/env bash
# Installs a build into an empty prefix and links a program to it, by CMake and by pkg-config.
#
#   test_install.sh SOURCE BUILD COMPILER
set -euo pipefail
source=$1 build=$2 compiler=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
program=$source/tests/kernels/install

fail() {
    printf 'test_install: %s\n' "$*" >&2
    exit 1
}

cmake --install "$build" --prefix "$dir/prefix" >"$dir/log" || fail "$(cat "$dir/log")"

# By the build's generator: CMake's own choice, make, need not be there.
generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")
cmake -G "$generator" -S "$program" -B "$dir/cmake" -D CMAKE_C_COMPILER="$compiler" \
    -D CMAKE_PREFIX_PATH="$dir/prefix" >"$dir/log" || fail "$(cat "$dir/log")"
cmake --build "$dir/cmake" >"$dir/log" || fail "$(cat "$dir/log")"
[[ $("$dir/cmake/embed") == 1.5 ]] || fail "through CMake: not 1.5"

PKG_CONFIG_PATH=$(dirname "$(find "$dir/prefix" -name attnbench.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs attnbench)
"$compiler" "$program/embed.c" "${flags[@]}" -Wl,-rpath,"$dir/prefix/lib" -o "$dir/embed"
[[ $("$dir/embed") == 1.5 ]] || fail "through pkg-config: not 1.5"

# The plug-in of docs/library.md, as that page says.
page=$source/docs/library.md
awk '/^## Plug-ins/ { on = 1 } on && /^```$/ { exit } code { print } on && /^```c$/ { code = 1 }' \
    "$page" >"$dir/mine.c"
build_it=$(sed -n 's/^    cc \(.* -o mine\.so .*\)$/\1/p' "$page")
[[ -n $build_it ]] || fail "docs/library.md does not say how a plug-in is compiled"
(cd "$dir" && bash -c "$compiler $build_it") || fail "$compiler $build_it"
"$dir/prefix/bin/attnbench" check --plugin "$dir/mine.so" --kernel mine --problem s=48,d=24,mask=causal \
    --output "$dir/check.jsonl" >"$dir/log" 2>&1 || fail "$(cat "$dir/log")"
grep -q '"kernel":"mine".*"state":"ok"' "$dir/check.jsonl" || fail "$(cat "$dir/check.jsonl")"

# What the installed program prints of itself.
for page in attnbench attnbench-run attnbench-completion; do
    grep -q "^\.TH \"$page\" 1" "$dir/prefix/share/man/man1/$page.1" || fail "no manual page $page(1)"
done
bash -n "$dir/prefix/share/bash-completion/completions/attnbench" || fail "completion of bash"
grep -q '^#compdef attnbench$' "$dir/prefix/share/zsh/site-functions/_attnbench" || fail "completion of zsh"
grep -q '^complete -c attnbench' "$dir/prefix/share/fish/vendor_completions.d/attnbench.fish" ||
    fail "completion of fish"

"$dir/prefix/bin/attnbench" --version >/dev/null || fail "the installed program does not start"
[[ -e $dir/prefix/bin/attnbench_plugins/tiles/tiles.so ]] || fail "the sizes of flash do not lie beside the program"
[[ -e $dir/prefix/bin/attnbench_plugins/layouts/again_1.so ]] || fail "the layouts do not lie beside the program"
