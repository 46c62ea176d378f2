#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# bench/qemu.sh -k KERNEL -o OUTDIR [-p] [-t SECONDS] WORKLOAD [WORD=VALUE...]
#
# Boot KERNEL (of rig/kernel.sh x86) in QEMU and run one workload in it.  Time in
# the guest advances by one nanosecond with each instruction.  In OUTDIR:
# console.log, and results, whose last line is "done" or the run has failed.  SEED is
# where the guest's random numbers come from (default 1).
#	-p	with perf, count functions instead of packets
#	-t	deadline in seconds of this machine (default DEADLINE, or 300)

. "$(dirname "$0")/../rig/lib.sh"

kernel='' out='' profile='' deadline=${DEADLINE:-300}
while getopts k:o:pt: option; do
	case $option in
	k)	kernel=$OPTARG ;;
	o)	out=$OPTARG ;;
	p)	profile=1 ;;
	t)	deadline=$OPTARG ;;
	*)	die "unknown option" ;;
	esac
done
shift $((OPTIND - 1))
if [ -z "$kernel" ] || [ -z "$out" ] || [ $# = 0 ]; then
	die "usage: bench/qemu.sh -k KERNEL -o OUTDIR [-p] [-t SECONDS]" \
		"WORKLOAD [WORD=VALUE...]"
fi
[ -e "$kernel" ] || die "no kernel at $kernel"
[ -e "$TOP/bench/workload/$1.sh" ] || die "no workload $1 in bench/workload"
workload=$1
shift

mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out/results" "$out/console.log"

# the kernel's modules and the scripts go on top of the programs
kernel=$(readlink -f "$kernel")
rm -rf "$out/top"
mkdir -p "$out/top/bench/modules" "$out/top/bench/guest"
cp -r "$TOP/bench/workload" "$out/top/bench"
cp "$TOP"/bench/guest/*.sh "$out/top/bench/guest"
find "$(dirname "$kernel")" -maxdepth 1 -name '*.ko' \
	-exec cp {} "$out/top/bench/modules" \;
layers=core
case $workload in
*openvpn*) layers="$layers openvpn" ;;
esac
[ -z "$profile" ] || layers="$layers perf"

words=''
for word in "workload=$workload" ${profile:+profile=1} "$@"; do
	words="$words bench.$word"
done
line="console=ttyS0 quiet tsc=reliable tsc_early_khz=1000000 nokaslr"
line="$line panic=-1 random.trust_cpu=on rdinit=/init$words"

# in_root PATH: how the tool root calls a path of the checkout or the cache
in_root() {
	case $1 in
	"$TOP"/*) echo "/ovpn${1#"$TOP"}" ;;
	"$CACHE"/*) echo "/cache${1#"$CACHE"}" ;;
	*)	die "$1 is outside of checkout and cache" ;;
	esac
}

# shellcheck disable=SC2016 # expanded by the shell in the tool root
timeout -k 1 "$deadline" "$RIG/in-root" sh -euc '
	out=$1 kernel=$2 layers=$3 line=$4 seed=$5
	cd "$out/top"
	find bench | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 \
		> "$out/top.cpio"
	cd "$out"
	rm -rf top
	for layer in $layers; do
		cat "/ovpn/build/bench/$layer.cpio"
	done > initrd
	cat top.cpio >> initrd
	rm top.cpio
	exec qemu-system-x86_64 -accel tcg -icount shift=0,sleep=off -smp 1 \
		-M pc -m 1G -cpu max,-erms,-fsrm -nodefaults -no-reboot \
		-display none -seed "$seed" -rtc base=2026-01-01,clock=vm \
		-serial file:console.log -serial file:results \
		-kernel "$kernel" -initrd initrd -append "$line"
' sh "$(in_root "$out")" "$(in_root "$kernel")" "$layers" "$line" "${SEED:-1}" \
	> "$out/qemu.log" 2>&1 || status=$?
rm -f "$out/initrd" "$out/top.cpio"
if [ "${status:-0}" = 124 ]; then
	die "$workload: no result within $deadline s, see $out/console.log"
fi
if [ ! -e "$out/results" ]; then
	die "$workload: QEMU did not start: $(tail -n 1 "$out/qemu.log")"
fi
[ "$(tr -d '\r' < "$out/results" | tail -n 1)" = "done" ] ||
	die "$workload: $(tr -d '\r' < "$out/console.log" |
		grep -v -e '^$' -e 'reboot: Restarting system' | tail -n 1)"
