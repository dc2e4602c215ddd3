#!/bin/sh
# A worker that computes nothing: it says what another one has said, in the file ANSWERS/ACTION-KERNEL, whose
# TOKEN becomes the request's.  What has no file there, as filling operands, the program's own worker does.
IFS= read -r request <&3
field() {
    value=${request#*"\"$1\":\""}
    value=${value%%'"'*}
}
field action
action=$value
field kernel
kernel=$value
if [ ! -f "$ANSWERS/$action-$kernel" ]; then
    exec "$ATTNBENCH" worker 3<<END
$request
END
fi
field token
IFS= read -r answer <"$ANSWERS/$action-$kernel"
printf '%s%s%s\n' "${answer%%TOKEN*}" "$value" "${answer#*TOKEN}" >&4
