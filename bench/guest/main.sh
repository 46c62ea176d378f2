#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What PID 1 of the bench's guest runs: one workload, named on the kernel's
# command line as bench.WORD=VALUE.  Progress and errors go to the console,
# results to the second serial port, the last of them "done".

set -eu

exec </dev/null >/dev/ttyS0 2>&1
tr ' ' '\n' < /proc/cmdline | sed -n 's/^bench\.\([a-z]*\)=/\1 /p' |
while read -r name value; do
	echo "$(echo "$name" | tr '[:lower:]' '[:upper:]')='$value'"
done > /tmp/words
# shellcheck disable=SC1091 # just made
. /tmp/words
# shellcheck source=bench/guest/lib.sh
. /bench/guest/lib.sh
# shellcheck disable=SC1090 # the one that is asked for
. "/bench/workload/$WORKLOAD.sh"
echo "done" > /dev/ttyS1
