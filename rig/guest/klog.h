/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel-log checker: line by line in, first lines of splats out. */
#ifndef KLOG_H
#define KLOG_H

#include <stdbool.h>

/* printed by PID 1 when the kernel has booted and user space begins */
#define KLOG_MARK	"guest: user space begins"

#define KLOG_EXCEPTIONS	8

struct klog {
	/* called once for each splat with the line that names it */
	void (*splat)(const char *line);
	/* names of exceptions that this run asked for */
	const char *allow;
	bool userspace;
	/* a report was announced; lines until the one that names it */
	int pending;
	char opener[256];
	/* the report that the lines belong to, and how far it may go on */
	enum { KLOG_NONE, KLOG_OPEN, KLOG_TRACED } phase;
	int lines;
	/* lines for which another name is one more of the same report */
	int named;
	unsigned int used[KLOG_EXCEPTIONS];
	unsigned int splats;
};

void klog_line(struct klog *k, const char *line);
void klog_end(struct klog *k);
bool klog_known_exceptions(const char *names);

#endif
