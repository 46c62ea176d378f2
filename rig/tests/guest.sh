#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tests/guest.sh: seeded faults in the guest.  Each of them must turn the
# verdict red and be named; a command without one must be green.
#
# KERNEL and KERNEL_DEBUG are the kernels to do it with.

. "$(dirname "$0")/../lib.sh"
RIG=$TOP/rig
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

KERNEL=${KERNEL:-$BUILD/kernel/um-patched/linux}
KERNEL_DEBUG=${KERNEL_DEBUG:-$BUILD/kernel/um-debug-patched/linux}
for kernel in "$KERNEL" "$KERNEL_DEBUG"; do
	[ -x "$kernel" ] || die "no kernel at $kernel"
done

work_dir test-guest
# shellcheck disable=SC2154 # set by work_dir
out=$work/out

# boot KERNEL [OPTION...] -- COMMAND...
boot() {
	boot_kernel=$1
	shift
	"$RIG/guest/boot.sh" -k "$boot_kernel" -o "$out" "$@"
}

passed() {
	[ -e "$out/verdict.json" ] && jq -e '.verdict == "pass"' \
		"$out/verdict.json" > /dev/null
}

# green NAME KERNEL [OPTION...] -- COMMAND...: passes, and without a word
green() {
	name=$1
	shift
	rc=0
	boot "$@" > "$work/log" 2>&1 || rc=$?
	[ ! -s "$work/log" ] && passed || rc=1
	verdict $rc "$name"
}

# is_red STATUS NAME PATTERN: what boot.sh said, in $work/log, is a failure
# that has the pattern in it, and nothing that looks like a pass is left
is_red() {
	rc=1
	if [ "$1" != 0 ] && grep -q "$3" "$work/log" && ! passed; then
		rc=0
	fi
	echo "wanted: $3" >> "$work/log"
	verdict $rc "$2"
}

# red NAME PATTERN KERNEL [OPTION...] -- COMMAND...: fails, and says why
red() {
	name=$1
	pattern=$2
	shift 2
	rc=0
	boot "$@" > "$work/log" 2>&1 || rc=$?
	is_red $rc "$name" "$pattern"
}

# same NAME FILE FILE
same() {
	rc=0
	cmp "$2" "$3" > "$work/log" 2>&1 || rc=$?
	verdict $rc "$1"
}

# fake < SCRIPT: something that takes a kernel's place; $out is its out folder
fake() {
	{
		echo '#!/bin/sh'
		echo "out=$out"
		cat
	} > "$work/fake"
	chmod +x "$work/fake"
}

# in_flight SIGNAL WHOM: boot, and send a signal once the command runs; over
# when no process of the guest is left, since all of them hold the fifo
in_flight() {
	rm -f "$work/fifo"
	mkfifo "$work/fifo"
	"$RIG/guest/boot.sh" -v -k "$KERNEL" -o "$out" -- \
		sh -c 'echo running; exec sleep infinity' \
		> "$work/fifo" 2>&1 &
	boot=$!
	exec 8< "$work/fifo"
	read -r line <&8 || line=
	[ "$line" = running ] || die "the guest says $line"
	uml=$(cat "$out/uml/guest/pid")
	case $2 in
	uml)	kill -s "$1" "$uml" ;;
	boot)	kill -s "$1" "$boot" ;;
	esac
	rc=0
	wait "$boot" || rc=$?
	cat <&8 > "$work/log"
	echo "exit status $rc" >> "$work/log"
	exec 8<&-
}

# --- green ------------------------------------------------------------------

green "a command that does nothing" "$KERNEL" -- true
green "processes left behind are killed" "$KERNEL" -- \
	sh -c 'setsid sleep infinity & sleep infinity & exit 0'
green "namespaces that are taken down" "$KERNEL" -- sh -c '
	ip netns add a
	ip netns add b
	ip -n a link add left type veth peer name right netns b
	ip netns del a
	ip netns exec b sleep infinity &
	ip netns del b'
green "ciphers that are let go" "$KERNEL" -- sh -c '
	ip xfrm state add src 10.0.0.1 dst 10.0.0.2 proto esp spi 1 \
		aead "rfc4106(gcm(aes))" 0x0102030405060708090a0b0c0d0e0f1011121314 128
	ip xfrm state flush'

# shellcheck disable=SC2016 # not to be expanded is the point
set -- 'a b' '' 'x"y' "it's" '
' 'a,b' '%41' '$HOME' '--version' 'mem=1' 'ü' '\n'
printf '<%s>' "$@" > "$work/wanted"
green "words of any kind" "$KERNEL" -- printf '<%s>' "$@"
same "they reach the command" "$work/wanted" "$out/output.log"

seq 100000 > "$work/wanted"
green "a lot of output" "$KERNEL" -- seq 100000
same "all of it is there" "$work/wanted" "$out/output.log"

boot "$KERNEL" -v -- seq 1000 > "$work/seen"
seq 1000 > "$work/wanted"
same "-v shows it, too" "$work/wanted" "$work/seen"

# --- the command ------------------------------------------------------------

red "an exit status" "the command exits 3" "$KERNEL" -- sh -c 'exit 3'
red "a signal" "the command was killed by signal 11" "$KERNEL" -- \
	sh -c 'kill -SEGV $$'
red "no such command" "the command exits 127" "$KERNEL" -- no-such-command
red "no such exception" "no such kernel-log exception: nonsense" "$KERNEL" -a nonsense \
	-- true

# --- what it leaves behind --------------------------------------------------

red "a network namespace" "left behind: network namespace lost" "$KERNEL" -- \
	sh -c 'ip netns add lost'
red "a network namespace without a name" \
	"left behind: 1 network namespaces without a name" "$KERNEL" -- \
	sh -c 'touch /tmp/ns; unshare --net=/tmp/ns true'
red "a network device" "left behind: network device lost0" "$KERNEL" -- \
	ip link add lost0 type dummy
red "a cipher" "left behind: 1 users of the cipher rfc4106" "$KERNEL" -- \
	sh -c 'ip xfrm state add src 10.0.0.1 dst 10.0.0.2 proto esp spi 1 \
	aead "rfc4106(gcm(aes))" 0x0102030405060708090a0b0c0d0e0f1011121314 128'

# --- the kernel -------------------------------------------------------------

red "a line in the kernel log" "kernel log: .*BUG: seeded" "$KERNEL" -- \
	sh -c 'echo "BUG: seeded" > /dev/kmsg'
red "a fault that was injected but not allowed" "kernel log: .*FAULT_INJ" \
	"$KERNEL" -- \
	sh -c 'echo "FAULT_INJECTION: forcing a failure." > /dev/kmsg'
green "a fault that was injected and allowed" "$KERNEL" -a fault-injection -- \
	sh -c 'echo "FAULT_INJECTION: forcing a failure." > /dev/kmsg'

green "nothing, on the debug kernel" "$KERNEL_DEBUG" -- true

# lkdtm FAULT: the command that has the kernel do it
lkdtm() {
	echo "echo $1 > /sys/kernel/debug/provoke-crash/DIRECT"
}

red "a WARN" "kernel log: .*WARNING:.*lkdtm" "$KERNEL_DEBUG" -- \
	sh -c "$(lkdtm WARNING)"
is_red 1 "it taints, too" "the kernel is tainted: 512"
red "a read of freed memory" "kernel log: .*KASAN: " "$KERNEL_DEBUG" -- \
	sh -c "$(lkdtm READ_AFTER_FREE)"
red "a panic" "kernel log: .*Kernel panic" "$KERNEL_DEBUG" -- \
	sh -c "$(lkdtm PANIC)"

# rig/patches/um-leak.patch
red "leaks" "memory leaks, see kmemleak.txt" "$KERNEL_DEBUG" -- \
	sh -c "$(lkdtm SLAB_LEAK)"
rc=0
jq -e '.leaks > 0' "$out/verdict.json" > "$work/log" || rc=1
grep 'lkdtm_SLAB_LEAK' "$out/kmemleak.txt" >> "$work/log" || rc=1
verdict $rc "they are counted and listed, with who made them"

# --- the guest --------------------------------------------------------------

red "a hang" "no verdict within 3 s" "$KERNEL" -t 3 -- sleep infinity

in_flight KILL uml
is_red $rc "a killed guest" "died without a verdict"
in_flight TERM boot
is_red $rc "a launcher that is told to end takes the guest along" "exit status 143"
in_flight KILL boot
is_red $rc "a launcher that is killed takes the guest along" "exit status 137"

fake <<'END'
END
red "a guest that says nothing" "without a verdict.*said nothing" \
	"$work/fake" -- true

echo '{"verdict": "pass"}' > "$out/verdict.json"
red "a verdict of yesterday" "without a verdict" "$work/fake" -- true

fake <<'END'
printf '{\n"verdict": "pass",\n"exit": 0,\n"reasons": []\n}\n' \
	> "$out/verdict.json"
END
red "an empty kernel log" "kernel log is empty" "$work/fake" -- true

fake <<'END'
echo "guest: user space begins" > "$out/dmesg.log"
printf '{\n"verdict": "pass",\n"exit": 0,\n' > "$out/verdict.json"
END
red "a verdict that is cut off" "cut off" "$work/fake" -- true

fake <<'END'
echo "guest: user space begins" > "$out/dmesg.log"
: > "$out/verdict.json"
END
red "an empty verdict" "cut off" "$work/fake" -- true

fake <<'END'
echo "guest: user space begins" > "$out/dmesg.log"
printf '{\n"verdict": "pass",\n"exit": 0,\n"reasons": []\n}\n' \
	> "$out/verdict.json"
exit 1
END
red "a guest that dies behind its verdict" "did not power off" \
	"$work/fake" -- true

tap_end
