#!/bin/sh
# For Open MPI instead of ssh, HOST COMMAND...: runs the command here, but as on another host: with that name, and
# without the processes of this one.
host=$1
shift
# shellcheck disable=SC2016  # the inner shell expands it
exec unshare --uts --pid --fork --mount-proc sh -c 'hostname "$1"; shift; exec sh -c "$*"' sh "$host" "$@"
