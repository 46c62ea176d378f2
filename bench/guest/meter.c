// SPDX-License-Identifier: GPL-2.0
/*
 * meter: what happened in a few windows of guest time.
 *
 *	meter WARM WINDOW COUNT NAME=NAMESPACE:DEVICE[:STATISTIC]...
 *
 * Waits for WARM milliseconds, then prints one line of JSON for each of COUNT
 * windows of WINDOW milliseconds: the time that passed ("ns", which under icount
 * is the number of instructions), how much of it the CPU was idle (to 10 ms), what
 * load's sink took, TCP's retransmissions, and for every NAME the packets and
 * bytes of the device, or one of the driver's own statistics (ethtool -S).
 *
 * Everything is opened beforehand, so that a reading costs a few system calls.
 */

#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>

#include "counters.h"

#define MAX_NAMES 16

static struct source {
	const char *name;
	char device[IFNAMSIZ];
	int file;		/* the namespace's /proc/net/dev */
	int snmp;		/* the namespace's TCP counters */
	int ethtool;		/* a socket, where a statistic is read */
	unsigned int nstats, stat;
} sources[MAX_NAMES];

static int nsources;

struct sample {
	uint64_t ns, idle, bytes, calls, retransmitted;
	uint64_t rx[MAX_NAMES], rx_bytes[MAX_NAMES];
	uint64_t tx[MAX_NAMES], tx_bytes[MAX_NAMES];
};

static volatile struct counters *counters;
static int stat;

static char *slurp(int fd)
{
	static char buf[65536];
	ssize_t got, len = 0;

	while ((got = pread(fd, buf + len, sizeof(buf) - 1 - len, len)) > 0)
		len += got;
	if (got < 0)
		err(1, "reading counters");
	buf[len] = 0;
	return buf;
}

static void device(const struct source *s, struct sample *at, int i)
{
	char *line = slurp(s->file), *name;
	size_t len = strlen(s->device);

	for (; line; line = strchr(line, '\n')) {
		name = line + strspn(line, "\n ");
		line = name;
		if (strncmp(name, s->device, len) || name[len] != ':')
			continue;
		if (sscanf(name + len + 1, "%" SCNu64 " %" SCNu64
			   " %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
			   &at->rx_bytes[i], &at->rx[i],
			   &at->tx_bytes[i], &at->tx[i]) == 4)
			return;
	}
	errx(1, "no device %s", s->device);
}

static void ask_driver(const struct source *s, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	strcpy(ifr.ifr_name, s->device);
	if (ioctl(s->ethtool, SIOCETHTOOL, &ifr))
		err(1, "statistics of %s", s->device);
}

static uint64_t statistic(const struct source *s)
{
	static uint64_t buf[1024];
	struct ethtool_stats *stats = (void *)buf;

	stats->cmd = ETHTOOL_GSTATS;
	stats->n_stats = s->nstats;
	ask_driver(s, stats);
	return stats->data[s->stat];
}

static void find_statistic(struct source *s, const char *name)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} set = {
		.info.cmd = ETHTOOL_GSSET_INFO,
		.info.sset_mask = 1 << ETH_SS_STATS,
	};
	struct ethtool_gstrings *names;

	s->ethtool = socket(AF_INET, SOCK_DGRAM, 0);
	ask_driver(s, &set);
	s->nstats = set.count;
	names = calloc(1, sizeof(*names) + s->nstats * ETH_GSTRING_LEN);
	if (!names || s->nstats > 1000)
		errx(1, "statistics of %s", s->device);
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = s->nstats;
	ask_driver(s, names);
	for (; s->stat < s->nstats; s->stat++)
		if (!strncmp((char *)names->data + s->stat * ETH_GSTRING_LEN,
			     name, ETH_GSTRING_LEN))
			break;
	if (s->stat == s->nstats)
		errx(1, "%s has no statistic %s", s->device, name);
	free(names);
}

/* field 12 of the second Tcp: line */
static uint64_t retransmissions(int fd)
{
	char *line = strstr(slurp(fd), "\nTcp:");
	uint64_t n = 0;

	line = line ? strstr(line + 1, "\nTcp:") : NULL;
	if (!line || sscanf(line, "\nTcp: %*d %*d %*d %*d %*u %*u %*u %*u %*u "
			    "%*u %*u %" SCNu64, &n) != 1)
		errx(1, "no TCP counters");
	return n;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void take(struct sample *at)
{
	char *text;
	int i;

	memset(at, 0, sizeof(*at));
	at->ns = now();
	at->bytes = counters->bytes;
	at->calls = counters->calls;
	for (i = 0; i < nsources; i++) {
		if (sources[i].ethtool) {
			at->rx[i] = statistic(&sources[i]);
		} else {
			device(&sources[i], at, i);
			at->retransmitted += retransmissions(sources[i].snmp);
		}
	}
	text = slurp(stat);
	if (sscanf(text, "cpu %*u %*u %*u %" SCNu64, &at->idle) != 1)
		errx(1, "no idle time");
}

static void open_source(char *arg)
{
	struct source *s = &sources[nsources++];
	char *where = strchr(arg, '='), *dev, *stat, path[64];
	int ns;

	if (!where || nsources == MAX_NAMES)
		errx(1, "bad name %s", arg);
	*where++ = 0;
	s->name = arg;
	dev = strchr(where, ':');
	if (!dev)
		errx(1, "bad name %s", arg);
	*dev++ = 0;
	stat = strchr(dev, ':');
	if (stat)
		*stat++ = 0;
	snprintf(s->device, sizeof(s->device), "%s", dev);
	snprintf(path, sizeof(path), "/run/netns/%s", where);
	ns = open(path, O_RDONLY);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		err(1, "%s", path);
	close(ns);
	s->file = open("/proc/thread-self/net/dev", O_RDONLY);
	s->snmp = open("/proc/thread-self/net/snmp", O_RDONLY);
	if (s->file < 0 || s->snmp < 0)
		err(1, "counters of %s", where);
	if (stat)
		find_statistic(s, stat);
}

static void print(const struct sample *a, const struct sample *b)
{
	int i;

	printf("{\"ns\":%" PRIu64 ",\"idle_ns\":%" PRIu64 ",\"bytes\":%" PRIu64
	       ",\"calls\":%" PRIu64 ",\"retransmitted\":%" PRIu64,
	       b->ns - a->ns, (b->idle - a->idle) * 10000000,
	       b->bytes - a->bytes, b->calls - a->calls,
	       b->retransmitted - a->retransmitted);
	for (i = 0; i < nsources; i++) {
		if (sources[i].ethtool) {
			printf(",\"%s\":%" PRIu64, sources[i].name,
			       b->rx[i] - a->rx[i]);
			continue;
		}
		printf(",\"%s\":{\"rx\":%" PRIu64 ",\"rx_bytes\":%" PRIu64
		       ",\"tx\":%" PRIu64 ",\"tx_bytes\":%" PRIu64 "}",
		       sources[i].name, b->rx[i] - a->rx[i],
		       b->rx_bytes[i] - a->rx_bytes[i], b->tx[i] - a->tx[i],
		       b->tx_bytes[i] - a->tx_bytes[i]);
	}
	puts("}");
}

int main(int argc, char **argv)
{
	struct timespec until;
	struct sample before, after;
	uint64_t next, window;
	int i, fd, count;

	if (argc < 5)
		errx(1, "usage: meter WARM WINDOW COUNT "
		     "NAME=NAMESPACE:DEVICE[:STATISTIC]...");
	window = atoll(argv[2]) * 1000000;
	count = atoi(argv[3]);
	for (i = 4; i < argc; i++)
		open_source(argv[i]);
	stat = open("/proc/stat", O_RDONLY);
	fd = open(COUNTERS, O_RDONLY);
	if (stat < 0 || fd < 0)
		err(1, "counters");
	counters = mmap(NULL, sizeof(*counters), PROT_READ, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		err(1, COUNTERS);

	next = now() + atoll(argv[1]) * 1000000;
	for (i = 0; i <= count; i++) {
		until.tv_sec = next / 1000000000;
		until.tv_nsec = next % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		take(&after);
		if (i)
			print(&before, &after);
		before = after;
		next += window;
	}
	return 0;
}
