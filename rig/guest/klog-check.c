// SPDX-License-Identifier: GPL-2.0
/*
 * klog-check [exception,...] < LOG: print the first line of every splat in a
 * kernel log; the exit status is 1 where there is one.
 */
#include <stdio.h>
#include <string.h>

#include "klog.h"

static void print(const char *line)
{
	puts(line);
}

int main(int argc, char **argv)
{
	struct klog klog = { .splat = print };
	static char line[65536];

	if (argc > 1)
		klog.allow = argv[1];
	if (argc > 2 || !klog_known_exceptions(klog.allow)) {
		fputs("usage: klog-check [exception,...] < LOG\n", stderr);
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\r\n")] = '\0';
		klog_line(&klog, line);
	}
	klog_end(&klog);
	return klog.splats ? 1 : 0;
}
