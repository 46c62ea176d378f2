#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/guest/boot.sh -k KERNEL -o OUTDIR [-t SECONDS] [-m MEM] [-c NCPUS]
#	[-a EXCEPTION,...] [-v | -i] -- COMMAND [ARG...]
#
# Boot a UML kernel whose PID 1 (init.c) runs COMMAND and judges the kernel
# afterwards.  Silent, and 0, where the verdict is "pass"; otherwise one line
# for each reason.
#	-t	deadline for everything together (default 300)
#	-a	kernel-log exceptions that COMMAND needs, by name (klog.c)
#	-v	COMMAND's output on stdout as well
#	-i	COMMAND on this terminal, without a deadline
# In OUTDIR: verdict.json output.log dmesg.log console.log, and with faults
# kmemleak.txt ref_tracker.txt.

. "$(dirname "$0")/../lib.sh"

usage="usage: rig/guest/boot.sh -k KERNEL -o OUTDIR [-t SECONDS] [-m MEM] \
[-c NCPUS] [-a EXCEPTION,...] [-v | -i] -- COMMAND [ARG...]"

kernel='' out='' deadline=300 mem=1G ncpus=2 allow='' tty=''
while getopts k:o:t:m:c:a:vi option; do
	case $option in
	k)	kernel=$OPTARG ;;
	o)	out=$OPTARG ;;
	t)	deadline=$OPTARG ;;
	m)	mem=$OPTARG ;;
	c)	ncpus=$OPTARG ;;
	a)	allow=$OPTARG ;;
	v)	tty=copy ;;
	i)	tty=own ;;
	*)	die "$usage" ;;
	esac
done
shift $((OPTIND - 1))
if [ -z "$kernel" ] || [ -z "$out" ] || [ $# = 0 ]; then
	die "$usage"
fi
[ -x "$kernel" ] || die "no kernel at $kernel"
case $deadline in
''|*[!0-9]*) die "the deadline is no number of seconds: $deadline" ;;
esac
[ "$tty" != own ] || [ -t 0 ] || die "-i needs a terminal"

mkdir -p "$out"
out=$(cd "$out" && pwd)
tools=$("$RIG/root.sh" path)
[ -e "$tools/.complete" ] || die "no tool root yet: run make root"
"$RIG/guest/build.sh" || exit
initramfs=$BUILD/guest/initramfs.cpio
klog_check=$BUILD/guest/klog-check
"$klog_check" ${allow:+"$allow"} </dev/null >/dev/null 2>&1 ||
	die "no such kernel-log exception: $allow"

# --- what this host must allow ----------------------------------------------

# UML maps its memory from a file there; a disk would be written to
TMPDIR=${UML_TMPDIR:-/dev/shm}
export TMPDIR
case $mem in
*[!0-9]*[!GM]|*[!0-9GM]*|[GM]*) die "not a size of memory: $mem" ;;
*G)	mib=$((${mem%G} * 1024)) ;;
*M)	mib=${mem%M} ;;
*)	die "the memory needs a unit, G or M: $mem" ;;
esac
free=$(df -Pk "$TMPDIR" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
[ -n "$free" ] || die "this host refuses UML: it has no $TMPDIR"
[ "$free" -ge "$mib" ] || die "this host refuses UML: $TMPDIR has $free MiB" \
	"free, the guest needs $mib"

# --- boot -------------------------------------------------------------------

# encode WORD: for the kernel's command line, where blanks and quotes matter
encode() {
	printf %s "$1" | od -An -v -tu1 | LC_ALL=C awk '
	{
		for (i = 1; i <= NF; i++) {
			c = sprintf("%c", $i + 0)
			if ($i < 128 && c ~ /[A-Za-z0-9_.:\/+@=-]/)
				printf "%s", c
			else
				printf "%%%02x", $i
		}
	}'
}

size=
[ "$tty" != own ] || size=$(stty size | tr ' ' ,)
run=
for word; do
	run=$run${run:+,}$(encode "$word")
done
set -- "tools=$(encode "$tools")" "checkout=$(encode "$TOP")" \
	"out=$(encode "$out")" "term=$(encode "${TERM:-dumb}")" \
	${tty:+"tty=$tty"} ${size:+"size=$size"} ${allow:+"allow=$allow"} "run=$run"
line=$*
[ ${#line} -lt 3500 ] ||
	die "the command is too long (${#line} bytes encoded): use a script"

# nothing in the folder may be taken for a result of this run
rm -rf "$out/uml"
rm -f "$out/verdict.json" "$out/verdict.json.tmp" "$out/output.log" \
	"$out/dmesg.log" "$out/console.log" "$out/kmemleak.txt" \
	"$out/ref_tracker.txt" "$out/late" "$out/reasons"

uml='' watch='' copies='' saved=''
[ "$tty" != own ] || saved=$(stty -g)

# shellcheck disable=SC2317 # called by the traps
end_guest() {
	# that either is gone by itself is as good
	[ -z "$watch" ] || kill "$watch" 2>/dev/null || :
	# its group: UML runs each of the guest's address spaces in a process
	[ -z "$uml" ] || kill -s KILL -- "-$uml" 2>/dev/null ||
		kill -s KILL "$uml" 2>/dev/null || :
	# shellcheck disable=SC2086 # process ids
	[ -z "$copies" ] || kill $copies 2>/dev/null || :
	wait
	[ -z "$saved" ] || stty "$saved"
	rm -rf "$out/uml"
}
trap end_guest EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Consoles must be something that epoll takes, which files and /dev/null are
# not: UML reports that under a lock, and allocates memory to do so.
fifos=$out/uml
mkdir "$fifos"
mkfifo "$fifos/idle" "$fifos/console" "$fifos/copy"
cat "$fifos/console" > "$out/console.log" &
copies=$!
case $tty in
own)	exec 3<&0 4>&1 ;;
copy)	cat "$fifos/copy" &
	copies="$copies $!"
	exec 3<>"$fifos/idle" 4>"$fifos/copy" ;;
*)	exec 3</dev/null 4>&3 ;;
esac
con1=fd:3,fd:4
[ -n "$tty" ] || con1=null
# not even a launcher that is killed leaves a guest behind
setsid setpriv --pdeathsig KILL \
	"$kernel" mem="$mem" ncpus="$ncpus" seccomp=on initrd="$initramfs" \
	con=null con0=fd:0,fd:1 con1="$con1" ssl=null \
	umid=guest uml_dir="$out/uml/" \
	panic=-1 printk.devkmsg=on random.trust_cpu=on \
	-- "$@" <>"$fifos/idle" >"$fifos/console" 2>&1 &
uml=$!
exec 3<&- 4>&-

if [ "$tty" != own ]; then
	# shellcheck disable=SC2016 # expanded by the other shell
	setpriv --pdeathsig TERM sh -c '
		sleep "$1" &
		trap "kill $!" TERM
		wait $! || exit
		: > "$2/late"
		kill -s KILL -- "-$3"
	' sh "$deadline" "$out" "$uml" </dev/null >/dev/null 2>&1 &
	watch=$!
fi

status=0
wait "$uml" 2>/dev/null || status=$?
uml=''
# shellcheck disable=SC2086 # process ids
wait $copies
copies=''

# --- the verdict ------------------------------------------------------------

reasons=$out/reasons
: > "$reasons"

fail() {
	printf '%s\n' "$*" >> "$reasons"
}

# the guest_verdict is the guest's own, which nothing here may better
verdict=$out/verdict.json
guest_verdict=
if [ -e "$out/late" ]; then
	rm -f "$out/late" "$verdict"
	fail "no verdict within $deadline s"
elif [ -e "$verdict" ]; then
	# PID 1 writes one reason a line
	sed -n '/^\t"/ { s/^\t"//; s/",*$//; s/\\\(["\\]\)/\1/g; p; }' \
		"$verdict" > "$reasons"
	guest_verdict=$(sed -n 's/^"verdict": "\(.*\)",$/\1/p' "$verdict")
	[ "$guest_verdict" = pass ] || [ -s "$reasons" ] ||
		fail "the verdict is not \"pass\""
	[ "$status" = 0 ] || fail "the guest did not power off (status $status)"
	[ "$(tail -n 1 "$verdict")" = "}" ] || fail "the verdict is cut off"
	[ -s "$out/dmesg.log" ] || fail "the kernel log is empty"
elif grep -q 'must be not mounted noexec' "$out/console.log"; then
	fail "this host refuses UML: $TMPDIR is not executable"
elif grep -q 'SECCOMP userspace requested but not' "$out/console.log"; then
	fail "this host refuses UML: no seccomp filters for programs"
else
	said=$(grep -v '^$' "$out/console.log" | tail -n 1)
	fail "the guest died without a verdict (status $status):" \
		"${said:-it said nothing}"
	"$klog_check" ${allow:+"$allow"} < "$out/console.log" |
		sed 's/^/kernel log: /' >> "$reasons"
fi

failed=0
if [ -s "$reasons" ]; then
	failed=1
	cat "$reasons"
	# what the guest could not say for itself
	[ "$guest_verdict" = fail ] || {
		printf '{\n"verdict": "fail",\n"exit": -1,\n"reasons": ['
		tr -d '\000-\011\013-\037' < "$reasons" |
			sed 's/["\\]/\\&/g; s/.*/\t"&"/; $!s/$/,/; 1s/^/\n/'
		printf ']\n}\n'
	} > "$verdict"
fi
rm "$reasons"
exit $failed
