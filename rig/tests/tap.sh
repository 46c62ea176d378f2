# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # sourced; $work is the caller's
#
# Sourced by the rig's own tests: TAP lines, and what is asked most.

tap_count=0
tap_failed=0

# verdict STATUS NAME: one TAP line; the text in $work/log explains a failure
verdict() {
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_count - $2"
		return
	fi
	echo "not ok $tap_count - $2"
	sed 's/^/# /' "$work/log"
	tap_failed=$((tap_failed + 1))
}

# works NAME COMMAND...: it exits with zero
works() {
	tap_name=$1
	shift
	tap_rc=0
	"$@" > "$work/log" 2>&1 || tap_rc=$?
	verdict "$tap_rc" "$tap_name"
}

# refused NAME PATTERN COMMAND...: it fails, and says why in exactly one line
# that has "error:" and matches the pattern; beside that there is only progress
refused() {
	tap_name=$1
	tap_pattern=$2
	shift 2
	tap_rc=0
	"$@" > "$work/log" 2>&1 || tap_rc=$?
	if [ "$tap_rc" = 0 ]; then
		echo "exit status 0, a failure was wanted" >> "$work/log"
		verdict 1 "$tap_name"
	elif [ "$(grep -c ': error: ' "$work/log")" != 1 ] ||
		grep -qv '^[a-z-]*: ' "$work/log"; then
		echo "wanted one line with error:" >> "$work/log"
		verdict 1 "$tap_name"
	elif ! grep -q ": error: .*$tap_pattern" "$work/log"; then
		echo "wanted: $tap_pattern" >> "$work/log"
		verdict 1 "$tap_name"
	else
		verdict 0 "$tap_name"
	fi
}

# tap_end: the plan; fails if a test did
tap_end() {
	echo "1..$tap_count"
	[ "$tap_failed" = 0 ]
}
