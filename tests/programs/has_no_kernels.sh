#!/bin/sh
# Answers, but with no list of kernels.
while read -r _ <&3; do echo '{"protocol":1,"state":"ok","why":null}' >&4; done
