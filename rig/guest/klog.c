// SPDX-License-Identifier: GPL-2.0
/* Kernel-log checker: which lines of a kernel log say that it is broken. */
#include <stdio.h>
#include <string.h>

#include "klog.h"

/* how far below its first line a report's last one may be */
#define REPORT_LINES	400
#define EXCUSED_LINES	200
/* how close together the lines are that name one and the same report */
#define NAMED_LINES	8

/*
 * Each line that has one of these in it is a splat, or a part of the one
 * above it.  Case matters, because the kernel's harmless messages use the
 * same words in lower case.
 */
static const char * const splats[] = {
	"WARNING:",
	"BUG:",
	"kernel BUG at",
	"BUG kmalloc-",
	"KASAN:",
	"KCSAN:",
	"UBSAN:",
	"ODEBUG:",
	"DEBUG_LOCKS_WARN_ON",
	"DEBUG_NET_WARN_ON",
	"refcount_t:",
	"ref_tracker:",
	"percpu ref",
	"list_add corruption",
	"list_del corruption",
	"Kernel panic",
	"Oops",
	"general protection",
	"Unable to handle kernel",
	"Segfault with no mm",
	"segfault at",
	"Kernel mode fault",
	"Bad page state",
	"Bad rss-counter",
	"page allocation failure",
	"Out of memory:",
	"possible circular locking dependency",
	"possible recursive locking",
	"possible irq lock inversion",
	"inconsistent lock state",
	"lock order",
	"suspicious RCU usage",
	"bad unlock balance",
	"held lock freed",
	"lock held when returning to user space",
	"lock(s) still held",
	"Invalid wait context",
	"MAX_LOCKDEP",
	"turning off the locking correctness validator",
	"sleeping function called from invalid context",
	"scheduling while atomic",
	"voluntary context switch within RCU",
	"soft lockup",
	"hard LOCKUP",
	"blocked for more than",
	"self-detected stall",
	"detected stalls on CPUs",
	"detected expedited stalls",
	"unregister_netdevice: waiting",
	"new suspected memory leaks",
	/* without its detector a run without leaks proves nothing */
	"Kernel memory leak detector disabled",
	"FAULT_INJECTION: forcing a failure",
	"Objects remaining",
	"Slab cache still has objects",
	"bad: scheduling from the idle thread",
	"irq event stamp",
	"exited with irqs disabled",
	"exited with preempt_count",
	"Invalid chan state",
};

/* the kernel quotes PID 1's arguments while it boots, whatever they are about */
static const char command[] = " run=";
static const char cut_here[] = "------------[ cut here ]------------";
static const char backtrace[] = "stack backtrace:";
static const char call_trace[] = "Call Trace:";
static const char end_trace[] = "---[ end trace";

/*
 * Reports that are no fault of what is tested.  Every entry has its reason and
 * the condition on which it goes away.  An entry covers one report: the line
 * that "head" names, one more that "also" names, and one stack trace.
 */
static const struct exception {
	/* NULL: always; otherwise only where the run allows it by name */
	const char *name;
	const char *head;
	const char *also;
	/* reports per boot, 0 for any number */
	unsigned int max;
	bool before_userspace;
} exceptions[KLOG_EXCEPTIONS] = {
	{
		/*
		 * Reason: UML brings its second CPU up with RCU callbacks
		 * enqueued on it before RCU counts it as online; the debug
		 * kernel says so once, with and without our patches.
		 * Remove when: an unpatched um-debug kernel with two CPUs
		 * boots without it.
		 */
		.head = "Callback enqueued on offline CPU",
		.also = "WARNING:",
		.max = 1,
		.before_userspace = true,
	}, {
		/*
		 * Reason: the fault injector prints the place of every
		 * failure that it was asked to make.
		 * Remove when: no test injects faults.
		 */
		.name = "fault-injection",
		.head = "FAULT_INJECTION: forcing a failure",
	}, {
		/*
		 * Reason: an injected failure of the page allocator is
		 * reported by its caller as a real one would be.
		 * Remove when: no test injects faults.
		 */
		.name = "page-allocation",
		.head = "page allocation failure",
	},
};

static bool listed(const char *names, const char *name, size_t len)
{
	const char *p = names;

	while (p && *p) {
		size_t n = strcspn(p, ",");

		if (n == len && !memcmp(p, name, n))
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

/* every name in the list is one of an exception */
bool klog_known_exceptions(const char *names)
{
	while (names && *names) {
		size_t n = strcspn(names, ",");
		bool known = false;
		int i;

		for (i = 0; i < KLOG_EXCEPTIONS; i++)
			if (exceptions[i].name &&
			    listed(exceptions[i].name, names, n))
				known = true;
		if (!known)
			return false;
		names += n + (names[n] == ',');
	}
	return true;
}

static void begin(struct klog *k, bool excused)
{
	k->phase = KLOG_OPEN;
	k->excused = excused;
	k->also = NULL;
	k->named = 0;
	k->lines = excused ? EXCUSED_LINES : REPORT_LINES;
}

static void splat(struct klog *k, const char *line)
{
	begin(k, false);
	k->named = NAMED_LINES;
	k->splats++;
	k->splat(line);
}

static bool excuse(struct klog *k, const char *line)
{
	int i;

	for (i = 0; i < KLOG_EXCEPTIONS && exceptions[i].head; i++) {
		const struct exception *e = &exceptions[i];

		if (!strstr(line, e->head))
			continue;
		if (e->name && !listed(k->allow, e->name, strlen(e->name)))
			continue;
		if (e->before_userspace && k->userspace)
			continue;
		if (e->max && k->used[i] >= e->max)
			continue;
		k->used[i]++;
		begin(k, true);
		k->also = e->also;
		return true;
	}
	return false;
}

static bool is_splat(const char *line)
{
	size_t i;

	for (i = 0; i < sizeof(splats) / sizeof(*splats); i++)
		if (strstr(line, splats[i]))
			return true;
	return false;
}

void klog_line(struct klog *k, const char *line)
{
	bool cut = k->cut_here;

	k->cut_here = false;
	if (k->phase && !--k->lines)
		k->phase = KLOG_NONE;
	if (k->named)
		k->named--;

	if (strstr(line, KLOG_MARK)) {
		k->userspace = true;
	} else if (!k->userspace && strstr(line, command)) {
		;
	} else if (strstr(line, cut_here)) {
		if (cut)
			splat(k, line);
		/* the next line says what it is about */
		k->cut_here = true;
	} else if (excuse(k, line)) {
		;
	} else if (cut) {
		splat(k, line);
	} else if (is_splat(line)) {
		if (k->phase == KLOG_OPEN && k->excused && k->also &&
		    strstr(line, k->also)) {
			k->also = NULL;
			k->warn_excused = true;
		} else if (k->phase != KLOG_OPEN || !k->named) {
			splat(k, line);
		} else {
			k->named = NAMED_LINES;
		}
	} else if (strstr(line, backtrace)) {
		if (k->phase != KLOG_OPEN)
			splat(k, line);
	} else if (strstr(line, call_trace)) {
		/* each report has one; a second one is another report */
		if (k->phase != KLOG_OPEN)
			splat(k, line);
		k->phase = KLOG_TRACED;
	} else if (strstr(line, end_trace)) {
		if (!k->phase)
			splat(k, line);
		k->phase = KLOG_NONE;
	}
}

/* the log is over: what was announced did not come */
void klog_end(struct klog *k)
{
	if (k->cut_here)
		splat(k, cut_here);
	k->cut_here = false;
}
