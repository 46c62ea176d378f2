// SPDX-License-Identifier: GPL-2.0
/* Send a UDP GSO packet again and again while one allocation after the other
 * fails: the first one of a task the first time, then the second one, until all
 * of them succeed.  The task is this one, which sends, or a NAPI thread, which
 * receives.  With -a this task fails as the debugfs attributes say, each time:
 * what tries again with less finds no memory either.
 *
 * The receiver is in here as well.  A datagram behind each packet, repeated
 * until it arrives, tells that what was sent before has arrived or never will.
 */

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include "batch.h"

#define SEGMENT		1250
#define SEGMENTS	32
#define HEADER		8	/* of a datagram: its step and its number */
#define MARKER		SEGMENTS
#define MAX_STEPS	5000
#define MARKER_MS	200
#define MARKERS		100

static unsigned int injected, refused, sent, markers, received;
static unsigned int bad, late;

/* what the datagram of a step has there */
static __u8 byte_at(__u32 step, unsigned int number, unsigned int at)
{
	return pattern(step * (MARKER + 1) + number, at);
}

static void fill(__u8 *p, __u32 step, unsigned int number, unsigned int len)
{
	unsigned int i;

	put32(p, step);
	put32(p + 4, number);
	for (i = HEADER; i < len; i++)
		p[i] = byte_at(step, number, i);
}

static int open_receiver(const char *netns, const char *port)
{
	int ours, theirs, fd;

	ours = open("/proc/self/ns/net", O_RDONLY);
	theirs = open(netns, O_RDONLY);
	if (ours < 0 || theirs < 0 || setns(theirs, CLONE_NEWNET))
		err(1, "%s", netns);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		err(1, "socket");
	bind_port(fd, AF_INET, atoi(port));
	set_receive_buffer(fd, 64 << 20);
	if (setns(ours, CLONE_NEWNET))
		err(1, "setns");
	close(ours);
	close(theirs);
	return fd;
}

static int open_sender(const char *addr, const char *port)
{
	int fd = open_socket(SOCK_DGRAM, addr, port, false);

	set_send_buffer(fd, 32 << 20);
	set_segment(fd, SEGMENT);
	return fd;
}

static void arm(int fd, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(fd, text, len, 0) != len)
		err(1, "fail-nth");
}

/* has the allocation that was asked for failed? */
static bool disarm(int fd)
{
	char text[16] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) < 1)
		err(1, "fail-nth");
	if (!atoi(text))
		return true;
	arm(fd, 0);
	return false;
}

/* what has arrived, up to the marker of this step: in order, none twice */
static bool collect(int fd, __u32 step)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	static unsigned int next;
	static __u8 buf[65536];
	unsigned int number, i;
	ssize_t len;

	while (poll(&pfd, 1, MARKER_MS) > 0) {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			err(1, "recv");
		if (len < HEADER) {
			bad++;
			continue;
		}
		number = get32(buf + 4);
		if (number == MARKER) {
			/* a late one is of no interest */
			if (get32(buf) != step)
				continue;
			next = 0;
			return true;
		}
		for (i = HEADER; i < len; i++)
			if (buf[i] != byte_at(get32(buf), number, i))
				break;
		if (i < len || len != SEGMENT)
			bad++;
		else if (get32(buf) != step || number < next)
			late++;
		next = number + 1;
		received++;
	}
	return false;
}

int main(int argc, char **argv)
{
	static __u8 buf[SEGMENTS * SEGMENT], marker[SEGMENT / 2];
	int fault, out, in, opt, i;
	__u32 all = 0, last, step;
	const char *task = NULL;
	bool fired = true;
	char path[64];

	while ((opt = getopt(argc, argv, "a:t:")) != -1) {
		if (opt == 'a')
			all = atoi(optarg);
		else if (opt == 't')
			task = optarg;
		else
			goto usage;
	}
	if (argc - optind != 3 || (all && task))
		goto usage;
	snprintf(path, sizeof(path), "/proc/%s/%s", task ? task : "self",
		 all ? "make-it-fail" : "fail-nth");
	fault = open(path, O_RDWR);
	if (fault < 0)
		err(1, "%s", path);
	last = all ? all : MAX_STEPS;
	in = open_receiver(argv[optind], argv[optind + 2]);
	out = open_sender(argv[optind + 1], argv[optind + 2]);

	for (step = 1; step <= last; step++) {
		for (i = 0; i < SEGMENTS; i++)
			fill(buf + i * SEGMENT, step, i, SEGMENT);
		fill(marker, step, MARKER, sizeof(marker));
		arm(fault, all ? 1 : step);
		if (send(out, buf, sizeof(buf), 0) == sizeof(buf))
			sent += SEGMENTS;
		else
			refused++;
		/* what this task does from here on is not to fail */
		if (all)
			arm(fault, 0);
		else if (!task)
			fired = disarm(fault);
		for (i = 0; i < MARKERS; i++) {
			if (send(out, marker, sizeof(marker), 0) < 0)
				err(1, "send");
			markers++;
			if (collect(in, step))
				break;
		}
		if (i == MARKERS)
			errx(1, "nothing arrives after step %u", step);
		if (task)
			fired = disarm(fault);
		if (!fired)
			break;
		injected++;
	}
	printf("injected=%u refused=%u sent=%u markers=%u ", injected, refused,
	       sent, markers);
	printf("received=%u bad=%u late=%u\n", received, bad, late);
	return !all && step > last;
usage:
	fprintf(stderr,
		"usage: fault-send [-a TIMES | -t TASK] NETNS ADDR PORT\n"
		"  NETNS  file of the receiver's network namespace\n"
		"  -a     all that may fail fails, so many times\n"
		"  -t     number of the task whose allocations fail\n");
	return 1;
}
