#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/reading.sh [-k] KERNEL-ID WHAT WIRE WORKLOAD CIPHER FAMILY DIRECTION
#
# One reading, taken once: the windows of a guest as build/bench/readings/KEY,
# one JSON object a line after a first one that names the reading.  KEY stands
# for everything that the numbers depend on; it is printed.  With -k nothing is
# read, and nothing printed where there is no reading yet.

. "$(dirname "$0")/../rig/lib.sh"

only_key=''
[ "${1:-}" != -k ] || {
	only_key=1
	shift
}
[ $# = 7 ] || die "usage: bench/reading.sh [-k] KERNEL-ID WHAT WIRE WORKLOAD" \
	"CIPHER FAMILY DIRECTION"
kernel=$1 what=$2 wire=$3 workload=$4 cipher=$5 family=$6 direction=$7

script=$workload
arg=${workload##*-}
case $arg in
*[!0-9]*|'') arg='' ;;
*)	script=${workload%-*} ;;
esac
[ -e "$TOP/bench/workload/$script.sh" ] ||
	die "no workload $script in bench/workload"

environment=$(cat "$TOP/bench/workload/$script.sh" "$TOP"/bench/guest/* \
	"$TOP/bench/qemu.sh" "$BUILD/bench/id" | sha256sum | cut -c1-12)
key=$(echo "$*" | tr ' ' _)_$environment
file=$BUILD/bench/readings/$key
if [ ! -e "$file" ]; then
	[ -z "$only_key" ] || exit 0
	mkdir -p "$BUILD/bench/readings"
	out=$BUILD/bench/run.$$
	trap 'rm -rf "$out"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	"$TOP/bench/qemu.sh" -k "$CACHE/kernel/$kernel/linux" -o "$out" "$script" \
		wire="$wire" cipher="$cipher" family="$family" \
		direction="$direction" arg="$arg" \
		warm=200 window=150 windows=4 || {
		mkdir -p "$BUILD/bench/failed"
		cp "$out/console.log" "$BUILD/bench/failed/$key.log"
		die "$* failed, see build/bench/failed/$key.log"
	}
	{
		printf '{"kernel":"%s","wire":"%s","workload":"%s",' \
			"$what" "$wire" "$workload"
		printf '"cipher":"%s","family":"%s","direction":"%s"}\n' \
			"$cipher" "$family" "$direction"
		tr -d '\r' < "$out/results" | sed -n 's/^window //p'
	} > "$file.new"
	mv "$file.new" "$file"
	say "$what $wire $workload $cipher $family $direction"
fi
echo "$key"
