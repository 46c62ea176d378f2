#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/bench.sh: make bench.  Takes the readings of readings.tsv on the base and
# the patched kernel, reports them in a table, in build/results/bench.json and in
# plots beside it.
#	Q=1	the quick subset
#	W=NAME	one workload only
#	K=base|patched	one kernel only
# A reading that is there already is not taken again, so that an interrupted run
# goes on where it was.

. "$(dirname "$0")/../rig/lib.sh"

[ -d "$TREE/.git" ] || die "no kernel tree yet: run make tree"
results=$BUILD/results
mkdir -p "$results" "$BUILD/bench"

kernels=''
for what in ${K:-base patched}; do
	kernel=$("$RIG/kernel.sh" x86 "$what")
	kernel=$(readlink -f "${kernel%/*}")
	kernels="$kernels $what=${kernel##*/}"
done
sha256sum < "$kernel/config" | cut -c1-12 > "$BUILD/bench/config"
"$TOP/bench/image.sh"

# --- what is to be read -----------------------------------------------------

# readings QUICK WORKLOAD: the lines of readings.tsv, every alternative
readings() {
	awk -v quick="$1" -v only="$2" -v kernels="$kernels" '
		/^#/ || NF == 0 { next }
		quick && $7 != "Q" { next }
		only && $1 != only { next }
		{
			nk = split(kernels, k, " ")
			nw = split($2, w, ",")
			nc = split($3, c, ",")
			nf = split($4, f, ",")
			nd = split($5, d, ",")
			for (iw = 1; iw <= nw; iw++)
			for (ic = 1; ic <= nc; ic++)
			for (fi = 1; fi <= nf; fi++)
			for (di = 1; di <= nd; di++)
			for (ik = 1; ik <= nk; ik++) {
				split(k[ik], id, "=")
				if (index("," $6 ",", "," id[1] ","))
					print id[2], id[1], w[iw], $1, \
						c[ic], f[fi], d[di]
			}
		}' "$TOP/bench/readings.tsv"
}

list=$BUILD/bench/list
readings "${Q:-}" "${W:-}" > "$list"
[ -s "$list" ] || die "no such workload: ${W:-} (see bench/readings.tsv)"

# --- take it ----------------------------------------------------------------

say "$(wc -l < "$list") readings"
status=0
xargs -P "$JOBS" -L 1 "$TOP/bench/reading.sh" < "$list" \
	> "$BUILD/bench/taken" || status=1
# what has been read is reported all the same
[ $status = 0 ] || say "some readings failed"
if [ -z "${Q:-}${W:-}" ]; then
	"$TOP/bench/report.sh" "$BUILD/bench/taken" "$results/bench" || status=1
	exit "$status"
fi
# a part does not take the place of the whole: what else is there is kept
"$TOP/bench/report.sh" "$BUILD/bench/taken" "$BUILD/bench/part" || status=1
readings '' '' | xargs -L 1 "$TOP/bench/reading.sh" -k > "$BUILD/bench/all"
"$TOP/bench/report.sh" "$BUILD/bench/all" "$results/bench" \
	> "$BUILD/bench/log" 2>&1 || :
exit "$status"
