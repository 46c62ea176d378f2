#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/guest/kunit.sh [SUITE...]: run the KUnit suites, or some of them,
# in a guest, print TAP.
#
# One point for each test case; what KUnit says below it, the parameters of
# a case for example, becomes comments.  A suite that is not in the kernel, and
# a case that left no result, is a failure.

set -u

KUNIT=/sys/kernel/debug/kunit
SUITES="ip6_gro ovpn_aead ovpn_gro ovpn_gso ovpn_gso_cut ovpn_pktid"
SUITES="$SUITES ovpn_udp_batch"

# those that must be there, then those that this list does not know yet
names() {
	for suite in $SUITES; do
		echo "$suite"
	done
	for dir in "$KUNIT"/ovpn*; do
		[ ! -d "$dir" ] || echo "${dir##*/}"
	done
}

if [ $# = 0 ]; then
	# shellcheck disable=SC2046 # a list
	set -- $(names | awk '!seen[$0]++')
fi
for suite; do
	echo "suite $suite"
	[ -e "$KUNIT/$suite/run" ] || continue
	echo 1 > "$KUNIT/$suite/run"
	sed 's/^/kunit /' "$KUNIT/$suite/results"
done | awk '
	function point(status, name) {
		printf "%s %d - %s: %s\n", status, ++points, suite, name
		if (status == "ok") return
		failed++
		told = 1
	}
	function close_suite() {
		if (suite == "") return
		if (plan == 0)
			point("not ok", "the kernel does not have it")
		else if (cases != plan)
			point("not ok", cases " results of " plan " cases")
		else if (!told)
			point("not ok", "the suite as a whole")
	}
	/^suite / {
		close_suite()
		suite = $2
		plan = cases = told = 0
		next
	}
	{ sub(/^kunit /, "") }
	/^    1\.\.[0-9]+$/ { plan = substr($1, 4) + 0; next }
	/^    (not )?ok [0-9]+ / {
		status = $1 == "ok" ? "ok" : "not ok"
		sub(/^    (not )?ok [0-9]+ (- )?/, "")
		cases++
		point(status, $0)
		next
	}
	/^ok 1 / { told = 1; next }
	/^not ok 1 / || /^KTAP / || /^1\.\./ { next }
	{ print "# " $0 }
	END {
		close_suite()
		print "1.." points
		exit failed > 0 || points == 0
	}'
