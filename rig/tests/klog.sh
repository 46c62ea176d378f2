#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# rig/tests/klog.sh: golden tests of the kernel-log checker.  Each log says how
# many splats are in it and how the first of them begins.

. "$(dirname "$0")/../lib.sh"
RIG=$TOP/rig
. "$RIG/patch.sh"
. "$RIG/tests/tap.sh"

work_dir test-klog
"$RIG/guest/build.sh"
klog_check=$BUILD/guest/klog-check
# shellcheck disable=SC2154 # set by work_dir
in=$work/in
mark='[    0.100000] guest: user space begins'

# splats COUNT NAME [FIRST [EXCEPTIONS]] < LOG
splats() {
	rc=0
	"$klog_check" ${4:+"$4"} > "$work/log" 2>&1 || rc=$?
	want=0
	[ "$1" = 0 ] || want=1
	ok=1
	if [ "$rc" = "$want" ] && [ "$(wc -l < "$work/log")" = "$1" ]; then
		case $(head -n 1 "$work/log") in
		*"${3:-}"*) ok=0 ;;
		esac
	fi
	echo "wanted: $1 ${3:-}" >> "$work/log"
	verdict $ok "$2"
}

# trace: what every report ends with on UML
trace() {
	cat <<-'END'
	[    1.000001] CPU: 1 UID: 0 PID: 51 Comm: iperf3 Not tainted 7.3.4 #1
	[    1.000002] Stack:
	[    1.000003]  60a00000 00000001
	[    1.000004] Call Trace:
	[    1.000005]  [<60012345>] ? foo_send+0x1a/0x40
	[    1.000006]  [<60012399>] foo_xmit+0x2a/0x90
	END
}

# offline_cpu: the report that a booting debug kernel is forgiven
offline_cpu() {
	cat <<-'END'
	[    0.020000] =============================
	[    0.020000] WARNING: suspicious RCU usage
	[    0.020000] 7.3.4 #1 Not tainted
	[    0.020000] -----------------------------
	[    0.020000] kernel/rcu/tree.c:3185 Callback enqueued on offline CPU!
	[    0.020000]
	[    0.020000] other info that might help us debug this:
	[    0.020000] rcu_scheduler_active = 1, debug_locks = 1
	[    0.020000] no locks held by swapper/1/0.
	[    0.020000]
	[    0.020000] stack backtrace:
	END
	trace
}

warn() {
	cat <<-'END'
	[    2.000000] ------------[ cut here ]------------
	[    2.000000] WARNING: drivers/net/foo.c:77 at foo_xmit+0x2a/0x90, CPU#1: iperf3/51
	END
	trace
	echo '[    2.000000] ---[ end trace 0000000000000000 ]---'
}

forced() {
	cat <<-'END'
	[    3.000000] FAULT_INJECTION: forcing a failure.
	[    3.000000] name failslab, interval 10, probability 100, space 0, times 1
	END
	trace
}

# --- clean ------------------------------------------------------------------

splats 0 "an empty log has no splat" < /dev/null

splats 0 "harmless words are no splat" <<'END'
[    0.000000] Kernel command line: panic=-1 -- out=/o run=sh,-c,echo%20WARNING:%20Oops
[    0.000000] kasan: KernelAddressSanitizer initialized
[    0.000000] kmemleak: Kernel memory leak detector initialized (mem pool available: 63000)
[    0.000000] rcu: 	RCU lockdep checking is enabled.
[    0.010000] Lock dependency validator: Copyright of somebody
[    0.010000] random: crng init done
[    0.010000] DEBUG: nothing to see
[    0.010000] foo: warning: an old option is used
[    0.020000]     run=sh,-c,echo%20BUG:
[    0.020000] kmemleak: Automatic memory scanning thread started
[    0.050000] bug reports go elsewhere
[    0.060000] foo0: oops counter reset
END

# --- reports ----------------------------------------------------------------

warn > "$in"
splats 1 "a WARN" "WARNING: drivers/net/foo.c" < "$in"
{ warn; warn; } > "$in"
splats 2 "two WARNs" "WARNING: drivers/net/foo.c" < "$in"

{
	cat <<-'END'
	[    2.000000] ------------[ cut here ]------------
	[    2.000000] refcount_t: underflow; use-after-free.
	[    2.000000] WARNING: lib/refcount.c:28 at refcount_warn_saturate+0x1, CPU#0: ip/9
	END
	trace
	echo '[    2.000000] ---[ end trace 0000000000000000 ]---'
} > "$in"
splats 1 "a reference count" "refcount_t: underflow" < "$in"

{
	cat <<-'END'
	[    2.000000] ==================================================================
	[    2.000000] BUG: KASAN: slab-use-after-free in foo_rx+0x10/0x80
	[    2.000000] Read of size 8 at addr 0000000062345678 by task ksoftirqd/0/14
	END
	trace
	cat <<-'END'
	[    2.000000] Allocated by task 40:
	[    2.000000]  kasan_save_track+0x14/0x30
	[    2.000000] Freed by task 41:
	[    2.000000]  kasan_save_track+0x14/0x30
	[    2.000000] Disabling lock debugging due to kernel taint
	END
} > "$in"
splats 1 "KASAN" "BUG: KASAN: slab-use-after-free" < "$in"

{
	cat <<-'END'
	[    2.000000] ======================================================
	[    2.000000] WARNING: possible circular locking dependency detected
	[    2.000000] 7.3.4 #1 Not tainted
	[    2.000000] ip/90 is trying to acquire lock:
	[    2.000000] but task is already holding lock:
	[    2.000000] -> #1 (&a->lock){+.+.}-{3:3}:
	[    2.000000]  lock_acquire+0x1/0x2
	[    2.000000] -> #0 (&b->lock){+.+.}-{3:3}:
	[    2.000000]  lock_acquire+0x1/0x2
	[    2.000000]  Possible unsafe locking scenario:
	[    2.000000]  *** DEADLOCK ***
	[    2.000000] stack backtrace:
	END
	trace
} > "$in"
splats 1 "lockdep: circular" "possible circular locking" < "$in"

{
	cat <<-'END'
	[    2.000000] ================================
	[    2.000000] WARNING: inconsistent lock state
	[    2.000000] inconsistent {SOFTIRQ-ON-W} -> {IN-SOFTIRQ-W} usage.
	[    2.000000] stack backtrace:
	END
	trace
} > "$in"
splats 1 "lockdep: lock state" "inconsistent lock state" < "$in"

{
	cat <<-'END'
	[    2.000000] =============================
	[    2.000000] WARNING: suspicious RCU usage
	[    2.000000] 7.3.4 #1 Not tainted
	[    2.000000] -----------------------------
	[    2.000000] drivers/net/foo.c:12 suspicious rcu_dereference_check() usage!
	[    2.000000] other info that might help us debug this:
	[    2.000000] stack backtrace:
	END
	trace
} > "$in"
splats 1 "RCU: names the place" "drivers/net/foo.c:12 suspicious" < "$in"

{
	echo '[    2.0] UBSAN: array-index-out-of-bounds in net/foo.c:7:3'
	trace
} > "$in"
splats 1 "UBSAN" "UBSAN: array-index" < "$in"

{
	cat <<-'END'
	[    2.000000] BUG: sleeping function called from invalid context at mm/foo.c:3
	[    2.000000] in_atomic(): 1, irqs_disabled(): 0, non_block: 0, pid: 5, name: ip
	END
	trace
} > "$in"
splats 1 "sleeping while atomic" "BUG: sleeping function" < "$in"

{
	echo '[    2.000000] BUG: scheduling while atomic: ip/55/0x00000200'
	trace
} > "$in"
splats 1 "scheduling while atomic" "BUG: scheduling while atomic" < "$in"

{
	cat <<-'END'
	[    2.000000] =============================================
	[    2.000000] BUG foo_cache (Tainted: G    B             ): Object already free
	[    2.000000] ---------------------------------------------
	END
	trace
} > "$in"
splats 1 "slab corruption" "BUG foo_cache" < "$in"

{
	cat <<-'END'
	[    2.000000] ------------[ cut here ]------------
	[    2.000000] ODEBUG: free active (active state 0) object: 0000 object type: timer_list
	[    2.000000] WARNING: lib/debugobjects.c:5 at debug_print_object+0x1, CPU#0: ip/9
	END
	trace
} > "$in"
splats 1 "debug objects" "ODEBUG: free active" < "$in"

{
	cat <<-'END'
	[    2.000000] BUG: unable to handle page fault for address: 0000000000001000
	[    2.000000] Oops: general protection fault, probably for non-canonical address
	END
	trace
	cat <<-'END'
	[    2.000000] ---[ end trace 0000000000000000 ]---
	[    2.000000] Kernel panic - not syncing: Fatal exception in interrupt
	END
} > "$in"
splats 2 "an oops, then a panic" "BUG: unable to handle" < "$in"

{
	cat <<-'END'
	[    9.000000] INFO: task ip:77 blocked for more than 122 seconds.
	[    9.000000]       Not tainted 7.3.4 #1
	END
	trace
} > "$in"
splats 1 "a hung task" "INFO: task ip:77" < "$in"

splats 1 "a soft lockup" "soft lockup" <<'END'
[    9.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [iperf3:51]
END

splats 1 "an RCU stall" "self-detected stall" <<'END'
[    9.000000] rcu: INFO: rcu_sched self-detected stall on CPU
END

splats 1 "a device that is not let go" "unregister_netdevice: waiting" <<'END'
[    9.000000] unregister_netdevice: waiting for foo0 to become free. Usage count = 2
[    9.000000] ref_tracker: foo0@0000000061 has 1/1 users at
[    9.000000]      foo_hold+0x1/0x2
END

splats 1 "references without a device" "ref_tracker:" <<'END'
[    9.000000] ref_tracker: reference already released.
END

# the judge reads and counts the leaks themselves
splats 0 "the sum of the leak detector" <<'END'
[    9.000000] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
END

splats 1 "a leak detector that gave up" "detector disabled" <<'END'
[    9.000000] kmemleak: Kernel memory leak detector disabled
END

splats 1 "a lock validator that gave up" "turning off" <<'END'
[    9.000000] turning off the locking correctness validator.
END

{
	echo '[    2.0] ip: page allocation failure: order:3, mode:0x40cc0'
	trace
} > "$in"
splats 1 "an allocation failure" "page allocation failure" < "$in"

trace > "$in"
splats 1 "a trace that nothing announces" "Call Trace:" < "$in"
splats 1 "the end of a trace that is lost" "end trace" <<'END'
[    2.000000] ---[ end trace 0000000000000000 ]---
END

splats 1 "a log that ends where a report begins" "cut here" <<'END'
[    2.000000] ------------[ cut here ]------------
END

splats 1 "a report that is not of a known kind" "foo fell over" <<'END'
[    2.000000] ------------[ cut here ]------------
[    2.000000] foo fell over
END

{
	warn
	echo '[    2.000000] unregister_netdevice: waiting for foo0 to become free.'
} > "$in"
splats 2 "what follows a report is another one" "WARNING:" < "$in"

# --- exceptions -------------------------------------------------------------

{ offline_cpu; echo "$mark"; } > "$in"
splats 0 "the offline CPU, once at boot" < "$in"
{ offline_cpu; offline_cpu; echo "$mark"; } > "$in"
splats 1 "the offline CPU twice" "Callback enqueued on offline CPU" < "$in"
{ echo "$mark"; offline_cpu; } > "$in"
splats 1 "the offline CPU after boot" "Callback enqueued on offline CPU" < "$in"
{ offline_cpu; warn; } > "$in"
splats 1 "a WARN behind the offline CPU" "WARNING: drivers/net/foo.c" < "$in"
{
	offline_cpu | sed '/Call Trace/,$d'
	warn
} > "$in"
splats 1 "a WARN within the offline CPU's report" "WARNING: drivers/net" < "$in"
{ offline_cpu; trace; } > "$in"
splats 1 "a trace too many behind the offline CPU" "Call Trace:" < "$in"

forced > "$in"
splats 1 "an injected fault that nobody asked for" "FAULT_INJECTION" < "$in"
{ forced; forced; } > "$in"
splats 0 "injected faults, allowed by name" "" fault-injection < "$in"
{ forced; warn; } > "$in"
splats 1 "a WARN behind an allowed fault" \
	"WARNING: drivers/net/foo.c" fault-injection < "$in"
{
	echo '[    2.0] ip: page allocation failure: order:3, mode:0x40cc0'
	trace
} > "$in"
splats 0 "an allocation failure, allowed by name" "" \
	fault-injection,page-allocation < "$in"
splats 1 "one exception does not stand for another" "page allocation" \
	fault-injection <<'END'
[    2.000000] ip: page allocation failure: order:3, mode:0x40cc0
END

echo '[    2.0] ref_tracker: memory allocation failure, unreliable.' > "$in"
splats 1 "a reference tracker without memory" "ref_tracker" < "$in"
splats 0 "a reference tracker without memory, allowed by name" "" \
	ref-tracker < "$in"

rc=0
"$klog_check" fault-injection,none-such < /dev/null > "$work/log" 2>&1 || rc=$?
ok=1
[ "$rc" != 2 ] || ok=0
verdict $ok "an exception that does not exist is refused"

tap_end
