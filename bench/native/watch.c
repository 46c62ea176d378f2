// SPDX-License-Identifier: GPL-2.0
/*
 * watch: the CPU time that a User Mode Linux guest has taken when it says so.
 *
 *	watch OUT
 *
 * The guest writes a line to OUT/mark.  Each is answered with a line in
 * OUT/marks: the guest's text, the nanoseconds of CPU time that all processes of
 * the guest have taken so far, and the time on the wall.  What others do on this
 * machine in between takes no CPU time of the guest's, and that is the point.
 *
 * The guest's processes are those of the session of the one that was started
 * with uml_dir=OUT/uml/.  One that ends takes its time with it, so that programs
 * should live across two marks.
 */

#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

static char buf[65536];

/* a small file as a string; empty where there is none any more */
static const char *slurp(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	buf[len > 0 ? len : 0] = 0;
	/* words of a command line */
	for (ssize_t i = 0; i + 1 < len; i++)
		if (!buf[i])
			buf[i] = ' ';
	return buf;
}

static int session_of(const char *pid)
{
	char path[300], state;
	const char *end;
	int ppid, group, session;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	end = strrchr(slurp(path), ')');
	if (!end || sscanf(end + 1, " %c %d %d %d", &state, &ppid, &group,
			   &session) != 4)
		return -1;
	return session;
}

static int guest_session(const char *out)
{
	char path[300], want[4200];
	struct dirent *d;
	int session = -1;
	DIR *proc;

	snprintf(want, sizeof(want), " uml_dir=%s/uml/ ", out);
	proc = opendir("/proc");
	if (!proc)
		err(1, "/proc");
	while (session < 0 && (d = readdir(proc))) {
		if (!isdigit(d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);
		if (strstr(slurp(path), want))
			session = session_of(d->d_name);
	}
	closedir(proc);
	return session;
}

static uint64_t threads_ns(const char *pid)
{
	char path[600];
	uint64_t ns, sum = 0;
	struct dirent *d;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	tasks = opendir(path);
	while (tasks && (d = readdir(tasks))) {
		if (!isdigit(d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid,
			 d->d_name);
		if (sscanf(slurp(path), "%" SCNu64, &ns) == 1)
			sum += ns;
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

static uint64_t session_ns(int session)
{
	struct dirent *d;
	uint64_t sum = 0;
	DIR *proc = opendir("/proc");

	if (!proc)
		err(1, "/proc");
	while ((d = readdir(proc)))
		if (isdigit(d->d_name[0]) && session_of(d->d_name) == session)
			sum += threads_ns(d->d_name);
	closedir(proc);
	return sum;
}

int main(int argc, char **argv)
{
	char mark[4200], marks[4200], last[1024] = "", events[4096];
	struct timespec ts;
	int in, session = -1;
	FILE *answers;

	if (argc != 2)
		errx(1, "usage: watch OUT");
	snprintf(mark, sizeof(mark), "%s/mark", argv[1]);
	snprintf(marks, sizeof(marks), "%s/marks", argv[1]);
	answers = fopen(marks, "w");
	in = inotify_init1(IN_CLOEXEC);
	if (!answers || in < 0 || inotify_add_watch(in, mark, IN_MODIFY) < 0)
		err(1, "%s", argv[1]);
	while (read(in, events, sizeof(events)) > 0) {
		char text[1024];

		snprintf(text, sizeof(text), "%.1023s", slurp(mark));
		/* cut off for rewriting, or seen */
		if (!strchr(text, '\n') || !strcmp(text, last))
			continue;
		strcpy(last, text);
		*strchr(text, '\n') = 0;
		if (session < 0)
			session = guest_session(argv[1]);
		if (session < 0)
			errx(1, "no guest of %s", argv[1]);
		clock_gettime(CLOCK_MONOTONIC, &ts);
		fprintf(answers, "%s %" PRIu64 " %" PRIu64 "\n", text,
			session_ns(session),
			ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec);
		fflush(answers);
	}
	err(1, "%s", mark);
}
