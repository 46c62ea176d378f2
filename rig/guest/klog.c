// SPDX-License-Identifier: GPL-2.0
/* Kernel-log checker: which lines of a kernel log say that it is broken. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "klog.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))

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
	/* slab: "BUG", cache and state, then what happened */
	"BUG ",
	"KASAN:",
	"KCSAN:",
	"UBSAN:",
	"ODEBUG:",
	"DEBUG_LOCKS_WARN_ON",
	"DEBUG_NET_WARN_ON",
	"refcount_t:",
	"ref_tracker:",
	"list_add corruption",
	"list_del corruption",
	"Kernel panic",
	"Oops",
	"general protection",
	"Unable to handle kernel",
	"Bad page state",
	"page allocation failure",
	"Out of memory:",
	/* lockdep's headings come with WARNING or BUG, but to be sure */
	"possible circular locking dependency",
	"possible recursive locking",
	"possible irq lock inversion",
	"inconsistent lock state",
	"bad unlock balance",
	"Invalid wait context",
	"INFO: trying to register non-static key",
	"sleeping function called from invalid context",
	"scheduling while atomic",
	"scheduling from the idle thread",
	"soft lockup",
	"hard LOCKUP",
	"INFO: task",
	"self-detected stall",
	"detected stalls",
	"detected expedited stalls",
	"unregister_netdevice: waiting",
	/* a detector that is off finds nothing, which proves nothing */
	"Kernel memory leak detector disabled",
	"turning off the locking correctness validator",
	"FAULT_INJECTION: forcing a failure",
};

/* announce a report that a line further below names */
static const struct {
	const char *text;
	int lines;
} openers[] = {
	{ "------------[ cut here ]------------", 1 },
	{ "WARNING: suspicious RCU usage", 3 },
};

static const char backtrace[] = "stack backtrace:";
static const char call_trace[] = "Call Trace:";
static const char end_trace[] = "---[ end trace";
/* the kernel quotes PID 1's arguments, whatever they are about */
static const char command[] = " run=";

/*
 * Reports that are no fault of what is tested.  Every entry has its reason and
 * the condition on which it goes away.  An entry covers one report: the line
 * that has "head" in it, what announced it, and one stack trace.
 */
static const struct exception {
	/* NULL: always; otherwise only where the run allows it by name */
	const char *name;
	const char *head;
	/* reports per boot, 0 for any number */
	unsigned int max;
	bool before_userspace;
} exceptions[KLOG_EXCEPTIONS] = {
	{
		/*
		 * Reason: a CPU that UML brings up enqueues an RCU callback
		 * before RCU counts it as online; lockdep says so once a
		 * boot, with and without our patches.
		 * Remove when: an unpatched um-debug kernel with two CPUs
		 * boots without it.
		 */
		.head = "Callback enqueued on offline CPU",
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
	}, {
		/*
		 * Reason: an injected failure hits the memory of a reference
		 * tracker, which does without from then on. The reference
		 * itself is still counted.
		 * Remove when: no test injects faults.
		 */
		.name = "ref-tracker",
		.head = "ref_tracker: memory allocation failure",
		.max = 1,
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
	k->lines = excused ? EXCUSED_LINES : REPORT_LINES;
	k->named = excused ? 0 : NAMED_LINES;
	k->pending = 0;
}

static void splat(struct klog *k, const char *line)
{
	begin(k, false);
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
		return true;
	}
	return false;
}

/* not in the middle of a word: there is BUG in DEBUG */
static bool is_splat(const char *line)
{
	const char *p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(splats); i++)
		for (p = line; (p = strstr(p, splats[i])); p++)
			if (p == line || !isalpha((unsigned char)p[-1]))
				return true;
	return false;
}

static int opens(const char *line)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(openers); i++)
		if (strstr(line, openers[i].text))
			return openers[i].lines;
	return 0;
}

void klog_line(struct klog *k, const char *line)
{
	int lines = opens(line);
	bool last, known;

	if (k->phase && !--k->lines)
		k->phase = KLOG_NONE;
	if (k->named)
		k->named--;

	if (strstr(line, KLOG_MARK)) {
		k->userspace = true;
		return;
	}
	if (!k->userspace && strstr(line, command))
		return;

	last = k->pending == 1;
	known = lines || is_splat(line) || strstr(line, call_trace) ||
		strstr(line, end_trace);
	if (k->pending)
		k->pending--;

	if (excuse(k, line))
		return;
	if (last && !lines) {
		splat(k, line);
		return;
	}
	if (k->pending || last) {
		if (!known)
			return;
		/* it never was named, and this is about something else */
		splat(k, k->opener);
		k->named = 0;
		k->phase = KLOG_NONE;
	}

	if (lines) {
		k->pending = lines;
		snprintf(k->opener, sizeof(k->opener), "%s", line);
	} else if (strstr(line, call_trace)) {
		/* each report has one; a second one is another report */
		if (k->phase != KLOG_OPEN)
			splat(k, line);
		k->phase = KLOG_TRACED;
	} else if (strstr(line, end_trace)) {
		if (!k->phase)
			splat(k, line);
		k->phase = KLOG_NONE;
	} else if (strstr(line, backtrace)) {
		if (k->phase != KLOG_OPEN)
			splat(k, line);
	} else if (is_splat(line)) {
		if (k->phase != KLOG_OPEN || !k->named)
			splat(k, line);
		else
			k->named = NAMED_LINES;
	}
}

/* the log is over: what was announced did not come */
void klog_end(struct klog *k)
{
	if (k->pending)
		splat(k, k->opener);
}
