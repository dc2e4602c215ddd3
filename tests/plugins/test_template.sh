#!/usr/bin/env bash
# Builds a plug-in of docs with the command in its header, or in the page that has it, and checks its kernel.
#
#   test_template.sh PROGRAM INCLUDE SOURCE KERNEL [PAGE]
#
# Exit 77: its compiler is not installed.
set -euo pipefail
program=$1 include=$2 source=$3 kernel=$4 page=${5:-$3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    printf 'test_template: %s\n' "$*" >&2
    exit 1
}

command=$(sed -n 's/^[!/]* *\([a-z+]* -O3 .* -o mine\.so .*\)$/\1/p' "$page")
[[ -n $command ]] || fail "$page does not say how it is compiled"
grep -q -e "check --plugin ./mine.so --kernel $kernel\b" "$page" || fail "$page does not say how $kernel is checked"
command -v "${command%% *}" >/dev/null || exit 77
# pkg-config finds an installed header; this one is not installed yet
command=${command//\$(pkg-config --cflags attnbench)/-I$include}
cp "$source" "$dir/mine.${source##*.}"
(cd "$dir" && bash -c "$command") || fail "$command"

unset ATTN_ISA_MASK # the compiler builds for what this processor has

# What it claims is what it was built for: ceilings are of that, and other hosts skip it.
march=$(grep -o -e '-march=[^ ]*' <<<"$command" || true)
macros=$(cc ${march:+"$march"} -dM -E -x c /dev/null)
isa='baseline|neon'
for macro in __ARM_FEATURE_SVE:sve __AVX2__:avx2 __AVX512VL__:avx512 __AVX512BF16__:avx512_bf16; do
    [[ $macros != *" ${macro%:*} "* ]] || isa=${macro#*:}
done
[[ $isa != avx512_bf16 || $macros == *" __AVX512VBMI__ "* ]] || isa=avx512

problem=b=2,hq=4,hkv=2,sq=24,skv=33,d=24,dv=16,layout=bshd
for more in "" ,mask=causal; do
    "$program" check --plugin "$dir/mine.so" --kernel "$kernel" --problem "$problem$more" \
        --threads 1,2 --output "$dir/check.jsonl" || fail "$kernel: $problem$more"
    [[ $(grep -c '"state":"ok"' "$dir/check.jsonl") == 2 ]] || fail "$(cat "$dir/check.jsonl")"
    [[ $(grep -cE "^\{\"type\":\"cell\".*\"isa\":\"($isa)\"" "$dir/check.jsonl") == 2 ]] || fail "not $isa: $(cat "$dir/check.jsonl")"
    rm "$dir/check.jsonl"
done
