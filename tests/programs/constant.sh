#!/bin/sh
# Computes nothing: every result is 0.
answer() { printf '{"protocol":1,"state":"ok","why":null%s}\n' "$1" >&4; }

# Zeros over the results of set $1.
write_zeros() {
    length=$(od -An -N8 -t u8 /proc/self/fd/5 | tr -d ' ')
    header=$(dd if=/proc/self/fd/5 bs=1 skip=8 count="$length" 2>/dev/null)
    place=$(printf '%s' "$header" | sed "s/.*\"o\.$1\":{[^}]*\"data_offsets\":\[\([0-9,]*\)\].*/\1/")
    begin=${place%,*} end=${place#*,}
    dd if=/dev/zero of=/proc/self/fd/5 bs=1 seek=$((8 + length + begin)) count=$((end - begin)) \
        conv=notrunc 2>/dev/null
}

while IFS= read -r request <&3; do
    case $request in
    *'"describe"'*)
        answer ',"kernels":[{"name":"constant","summary":"zeros","source":"none","caps":{"dtypes":["f32"],"outputs":["o"]}}]'
        ;;
    *'"prepare"'*)
        cpus=$(printf '%s' "$request" | sed 's/.*"cpus":\(\[[0-9,]*\]\).*/\1/')
        answer ",\"threads\":1,\"cpus\":$cpus,\"library\":\"sh\""
        ;;
    *'"execute"'*)
        write_zeros 0
        answer ''
        ;;
    *'"measure"'*) answer ',"seconds":0.001' ;;
    *) answer '' ;;
    esac
done
