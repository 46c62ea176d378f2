// SPDX-License-Identifier: GPL-2.0
/*
 * What a command must not leave in the kernel.
 *
 * ovpn has no slab cache of its own: peers, key slots and sockets come from
 * kmalloc, whose counts are noise.  What they hold can be seen instead: a peer
 * holds its device and so the device's network namespace, which has a cache; a
 * key slot holds transforms, which /proc/crypto counts.  What holds nothing is
 * for kmemleak.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define MAX_NAMES	256
#define LEFTOVERS_MS	30000
#define ORPHANS_MS	240000
#define TICK_MS		20
#define FLUSH_MS	300
/* kmemleak reports nothing that is younger */
#define LEAK_AGE_MS	5000

#define NETS		"/sys/kernel/slab/net_namespace/"
#define TRACKERS	"/sys/kernel/debug/ref_tracker"
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"

#define TAINT_DIE	(1 << 7)
#define TAINT_BAD_PAGE	(1 << 5)
#define TAINT_WARN	(1 << 9)
#define TAINT_LOCKUP	(1 << 14)

struct users {
	char driver[128];
	int count;
};

static struct state {
	char *devices[MAX_NAMES];
	int nr_devices;
	int nets;
	int trackers;
	struct users crypto[MAX_NAMES];
	int nr_crypto;
} before;

static bool write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

static int read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	int n;

	if (!f)
		return -1;
	if (fscanf(f, "%d", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

/* names in a folder; the caller frees them */
static int list(const char *dir, char **names)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	if (!d)
		return 0;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && n < MAX_NAMES)
			names[n++] = strdup(e->d_name);
	closedir(d);
	return n;
}

static void unlist(char **names, int n)
{
	while (n)
		free(names[--n]);
}

static int count(const char *dir)
{
	char *names[MAX_NAMES];
	int n = list(dir, names);

	unlist(names, n);
	return n;
}

/*
 * The kernel frees a dead namespace when the next one dies: make one die.  It
 * is counted itself then, before the command as well as after it.
 */
static void flush_nets(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(unshare(CLONE_NEWNET) ? 1 : 0);
	waitpid(pid, NULL, 0);
}

/* the cache keeps freed objects, and KASAN's quarantine does, until shrunk */
static int count_nets(void)
{
	write_to(NETS "shrink", "1");
	return read_number(NETS "objects");
}

static int crypto_users(struct users *u)
{
	FILE *f = fopen("/proc/crypto", "re");
	char line[256], driver[128] = "";
	int n = 0, users;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "driver : %127s", driver);
		if (sscanf(line, "refcnt : %d", &users) != 1 || n == MAX_NAMES)
			continue;
		strcpy(u[n].driver, driver);
		u[n++].count = users;
	}
	fclose(f);
	return n;
}

/* what an unused algorithm has: itself, or what the boot left on it */
static int users_before(const char *driver)
{
	int i;

	for (i = 0; i < before.nr_crypto; i++)
		if (!strcmp(before.crypto[i].driver, driver))
			return before.crypto[i].count;
	return 1;
}

static bool device_before(const char *name)
{
	int i;

	for (i = 0; i < before.nr_devices; i++)
		if (!strcmp(before.devices[i], name))
			return true;
	return false;
}

static void take_stock(struct state *s)
{
	s->nr_devices = list("/sys/class/net", s->devices);
	s->nets = count_nets();
	s->trackers = count(TRACKERS);
	s->nr_crypto = crypto_users(s->crypto);
}

void judge_before(void)
{
	/* only our own scans, so that a run does not depend on its length */
	if (!access(KMEMLEAK, F_OK) && !write_to(KMEMLEAK, "scan=off"))
		reason("kmemleak is disabled");
	flush_nets();
	take_stock(&before);
}

static void save_trackers(void)
{
	char *names[MAX_NAMES], path[512], line[1024];
	FILE *in, *out = fopen("/out/ref_tracker.txt", "we");
	int i, n = list(TRACKERS, names);

	for (i = 0; out && i < n; i++) {
		snprintf(path, sizeof(path), TRACKERS "/%s", names[i]);
		fprintf(out, "%s\n", names[i]);
		in = fopen(path, "re");
		while (in && fgets(line, sizeof(line), in))
			fprintf(out, "\t%s", line);
		if (in)
			fclose(in);
	}
	if (out)
		fclose(out);
	unlist(names, n);
}

/* count what is there and was not; with "say", name it */
static int leftovers(bool say)
{
	static struct state now;
	int i, n = 0;

	unlist(now.devices, now.nr_devices);
	take_stock(&now);
	for (i = 0; i < now.nr_devices; i++) {
		if (device_before(now.devices[i]))
			continue;
		n++;
		if (say)
			reason("left behind: network device %s",
			       now.devices[i]);
	}
	for (i = 0; i < now.nr_crypto; i++) {
		struct users *u = &now.crypto[i];
		int users = u->count - users_before(u->driver);

		if (users <= 0)
			continue;
		n++;
		if (say)
			reason("left behind: %d users of the cipher %s", users,
			       u->driver);
	}
	if (now.nets > before.nets) {
		n++;
		if (say)
			reason("left behind: %d network namespaces without a name",
			       now.nets - before.nets);
	}
	if (now.trackers > before.trackers) {
		n++;
		if (say) {
			reason("left behind: %d referenced network objects, see ref_tracker.txt",
			       now.trackers - before.trackers);
			save_trackers();
		}
	}
	return n;
}

/*
 * A closed TCP socket whose peer is gone keeps its namespace until it has given
 * up sending what it had left.  That is how TCP is, not a leak.
 */
static int tcp_orphans(void)
{
	FILE *f = fopen("/proc/net/sockstat", "re");
	int orphans = 0;
	char line[256];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "TCP: inuse %*d orphan %d", &orphans) == 1)
			break;
	fclose(f);
	return orphans;
}

void judge_leftovers(void)
{
	long long deadline = now_ms() + LEFTOVERS_MS, flush = now_ms();
	long long limit = now_ms() + ORPHANS_MS;
	char *names[MAX_NAMES], path[512];
	int i, n = list("/run/netns", names), wait = FLUSH_MS;

	for (i = 0; i < n; i++) {
		reason("left behind: network namespace %s", names[i]);
		/* what it holds is no news; what is left without it is */
		snprintf(path, sizeof(path), "/run/netns/%s", names[i]);
		umount2(path, MNT_DETACH);
	}
	unlist(names, n);
	/* grace periods no longer matter for what is tested */
	write_to("/sys/kernel/rcu_expedited", "1");

	/*
	 * Namespaces, their devices and ciphers are taken down by workers and
	 * after grace periods, and nothing tells when the last is gone.  How
	 * long a namespace takes to die is not known either, and those that
	 * die to flush must do it one at a time: leave them ever more time, and
	 * the last of them half of all there is, lest it is counted itself.
	 */
	while (leftovers(false) && now_ms() < deadline) {
		if (now_ms() < limit && tcp_orphans() > 0) {
			deadline = now_ms() + LEFTOVERS_MS;
			/* their namespaces are not dead yet: begin with them */
			wait = FLUSH_MS;
			flush = now_ms() + wait;
		}
		if (now_ms() >= flush && flush < deadline - LEFTOVERS_MS / 2) {
			flush_nets();
			flush = now_ms() + wait;
			wait *= 2;
		}
		pause_ms(TICK_MS);
	}
	leftovers(true);
}

/*
 * Where an object that is no leak was allocated, and why it looks like one.
 *
 * _dl_allocate_tls: the C library that UML is linked with keeps the thread
 * block of a secondary CPU in a mapping of its own, in which kmemleak does not
 * look, and allocates the table that belongs to it from the kernel.
 * Remove when: an um-debug kernel with two CPUs boots without this leak.
 */
static bool leak_excused(const char *object)
{
	return strstr(object, "comm \"swapper/0\"") &&
		strstr(object, "_dl_allocate_tls+");
}

/*
 * Nothing is cleared before the command: what a leaking driver lost while the
 * kernel booted is its fault, too.  Two scans, because the first only takes
 * the checksums without which the second believes an object to be in use.
 */
int judge_leaks(void)
{
	/* an object is a heading and indented lines */
	static char text[4096], object[65536];
	FILE *in, *out;
	size_t len = 0;
	int leaks = 0;

	if (access(KMEMLEAK, F_OK))
		return 0;
	if (!write_to(KMEMLEAK, "scan")) {
		reason("kmemleak is disabled");
		return 0;
	}
	pause_ms(LEAK_AGE_MS);
	if (!write_to(KMEMLEAK, "scan")) {
		reason("kmemleak is disabled");
		return 0;
	}
	in = fopen(KMEMLEAK, "re");
	out = fopen("/out/kmemleak.txt", "we");
	if (!in || !out) {
		reason("cannot read kmemleak: %m");
		return 0;
	}
	while (fgets(text, sizeof(text), in)) {
		fputs(text, out);
		if (text[0] != ' ') {
			leaks += len && !leak_excused(object);
			len = 0;
		}
		len += snprintf(object + len, sizeof(object) - len, "%s", text);
		if (len >= sizeof(object))
			len = sizeof(object) - 1;
	}
	leaks += len && !leak_excused(object);
	fclose(in);
	if (fclose(out))
		reason("cannot write kmemleak.txt: %m");
	if (leaks)
		reason("%d memory leaks, see kmemleak.txt", leaks);
	return leaks;
}

/* catches what the log's checker might not know */
void judge_taint(void)
{
	int bad = TAINT_DIE | TAINT_BAD_PAGE | TAINT_WARN | TAINT_LOCKUP;
	int taint = read_number("/proc/sys/kernel/tainted");

	if (taint < 0 || taint & bad)
		reason("the kernel is tainted: %d", taint);
}
