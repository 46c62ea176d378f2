// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the guest.  Builds the root out of host folders, runs one command,
 * judges the kernel afterwards and leaves the verdict in a host folder.
 *
 * Arguments (what follows "--" on the kernel's command line, percent-encoded):
 *	tools=DIR checkout=DIR out=DIR	host folders for /, /ovpn and /out
 *	run=WORD,WORD...		the command
 *	tty=copy | tty=own		output also to tty1, or run on tty1
 *	term=NAME size=ROWS,COLUMNS	of the terminal
 *	allow=NAME,...			kernel-log exceptions, see klog.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <net/if.h>

#include "guest.h"
#include "klog.h"

#define MAX_WORDS	1024
#define MAX_REASONS	64
#define KILL_MS		10000

static char *tools, *checkout, *out, *tty, *term = "dumb", *size;
static char *command[MAX_WORDS + 1];
static char *reasons[MAX_REASONS];
static int nr_reasons, more_reasons;
static bool out_mounted;
static int exit_status = -1, leaks;
static long long command_ms;

static int kmsg = -1, dmesg_log = -1;
static unsigned long long kmsg_next, kmsg_lost;
static struct klog klog;

void reason(const char *fmt, ...)
{
	va_list args;

	if (nr_reasons == MAX_REASONS) {
		more_reasons++;
		return;
	}
	va_start(args, fmt);
	if (vasprintf(&reasons[nr_reasons], fmt, args) >= 0)
		nr_reasons++;
	va_end(args);
}

long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

void pause_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* what is written must be on the host even if the guest dies right after */
static void put(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			reason("cannot write to the out folder: %m");
			return;
		}
		buf += n;
		len -= n;
	}
}

static void to_host(int fd)
{
	sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
			SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static void json_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void write_verdict(void)
{
	bool pass = !nr_reasons && !exit_status;
	struct utsname uts;
	FILE *f;
	int i;

	uname(&uts);
	if (more_reasons)
		/* the last one makes room for saying so */
		snprintf(reasons[MAX_REASONS - 1],
			 strlen(reasons[MAX_REASONS - 1]) + 1, "...");
	f = fopen("/out/verdict.json.tmp", "w");
	if (!f)
		return;
	/* one reason a line: boot.sh reads them without a JSON parser */
	fprintf(f, "{\n\"verdict\": \"%s\",\n\"exit\": %d,\n\"reasons\": [",
		pass ? "pass" : "fail", exit_status);
	for (i = 0; i < nr_reasons; i++) {
		fputs(i ? ",\n\t" : "\n\t", f);
		json_string(f, reasons[i]);
	}
	fprintf(f, "%s],\n\"kernel\": ", nr_reasons ? "\n" : "");
	json_string(f, uts.release);
	fprintf(f, ",\n\"seconds\": %lld.%03lld,\n", command_ms / 1000,
		command_ms % 1000);
	fprintf(f, "\"leaks\": %d,\n\"splats\": %u\n}\n", leaks, klog.splats);
	if (fflush(f) || ferror(f)) {
		fclose(f);
		return;
	}
	to_host(fileno(f));
	fclose(f);
	rename("/out/verdict.json.tmp", "/out/verdict.json");
}

static void __attribute__((noreturn)) power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *fmt, ...)
{
	static char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "guest: error: %s\n", text);
	reason("guest: %s", text);
	if (out_mounted)
		write_verdict();
	power_off();
}

static void mount_at(const char *source, const char *dir, const char *type,
		     unsigned long flags, const char *options)
{
	mkdir(dir, 0755);
	if (mount(source, dir, type, flags, options))
		die("cannot mount %s on %s: %m", type, dir);
}

/* for file systems that not every kernel has */
static void try_mount(const char *dir, const char *type)
{
	if (mount(type, dir, type, 0, NULL) && errno != ENODEV &&
	    errno != ENOENT)
		die("cannot mount %s on %s: %m", type, dir);
}

static void link_to(const char *target, const char *path)
{
	unlink(path);
	if (symlink(target, path))
		die("cannot link %s to %s: %m", path, target);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		die("cannot write %s: %m", path);
}

static void build_root(void)
{
	char modules[256];
	struct utsname uts;

	mount_at("none", "/lower", "hostfs", MS_RDONLY, tools);
	mount_at("tmpfs", "/upper", "tmpfs", 0, "mode=0755");
	mkdir("/upper/files", 0755);
	mkdir("/upper/work", 0755);
	mount_at("overlay", "/new", "overlay", 0,
		 "lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work");
	if (chdir("/new") || mount(".", "/", NULL, MS_MOVE, NULL) ||
	    chroot(".") || chdir("/"))
		die("cannot enter the tools' root: %m");

	mount_at("none", "/out", "hostfs", 0, out);
	out_mounted = true;
	mount_at("none", "/ovpn", "hostfs", MS_RDONLY, checkout);
	mount_at("proc", "/proc", "proc", 0, NULL);
	mount_at("sysfs", "/sys", "sysfs", 0, NULL);
	mount_at("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	mount_at("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666");
	mount_at("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777");
	mount_at("tmpfs", "/tmp", "tmpfs", 0, "mode=1777");
	mount_at("tmpfs", "/run", "tmpfs", 0, "mode=0755");
	try_mount("/sys/kernel/debug", "debugfs");
	try_mount("/sys/kernel/tracing", "tracefs");
	/* ip netns wants its mounts to propagate */
	if (mkdir("/run/netns", 0755) ||
	    mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL))
		die("cannot prepare /run/netns: %m");

	link_to("/proc/self/fd", "/dev/fd");
	link_to("/proc/self/fd/0", "/dev/stdin");
	link_to("/proc/self/fd/1", "/dev/stdout");
	link_to("/proc/self/fd/2", "/dev/stderr");
	/* scripts that load what is built in must not fail */
	uname(&uts);
	snprintf(modules, sizeof(modules), "/lib/modules/%s", uts.release);
	if (access(modules, F_OK))
		link_to("/bin/true", "/usr/sbin/modprobe");
	write_file("/etc/hosts", "127.0.0.1 localhost guest\n::1 localhost\n");
	sethostname("guest", 5);
}

static void loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr))
		die("cannot set lo up: %m");
	close(fd);
}

static void splat(const char *line)
{
	reason("kernel log: %s", line);
}

static void kmsg_text(const char *stamp, const char *text, size_t len)
{
	static char line[16384];

	snprintf(line, sizeof(line), "%s%.*s", stamp, (int)len, text);
	klog_line(&klog, line);
	put(dmesg_log, line, strlen(line));
	put(dmesg_log, "\n", 1);
}

/* "level,number,microseconds,flags;text", then lines of key=value */
static void kmsg_record(char *record)
{
	unsigned long long number, us;
	char stamp[32], *text, *end;

	if (sscanf(record, "%*u,%llu,%llu", &number, &us) != 2)
		return;
	text = strchr(record, ';');
	if (!text)
		return;
	text++;
	text[strcspn(text, "\n")] = '\0';
	if (number > kmsg_next)
		kmsg_lost += number - kmsg_next;
	kmsg_next = number + 1;
	snprintf(stamp, sizeof(stamp), "[%5llu.%06llu] ", us / 1000000,
		 us % 1000000);
	/* a record of several lines has their ends encoded */
	for (; (end = strstr(text, "\\x0a")); text = end + 4)
		kmsg_text(stamp, text, end - text);
	kmsg_text(stamp, text, strlen(text));
}

static void drain_kmsg(void)
{
	static char record[16384];
	ssize_t n;

	for (;;) {
		n = read(kmsg, record, sizeof(record) - 1);
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;	/* the numbers tell how many are lost */
		if (n <= 0)
			break;
		record[n] = '\0';
		kmsg_record(record);
	}
	if (n < 0 && errno != EAGAIN)
		die("cannot read the kernel log: %m");
	to_host(dmesg_log);
}

static void open_kmsg(void)
{
	static const char mark[] = "<6>" KLOG_MARK "\n";

	klog.splat = splat;
	dmesg_log = open("/out/dmesg.log",
			 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	kmsg = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (dmesg_log < 0 || kmsg < 0)
		die("cannot open the kernel log: %m");
	put(kmsg, mark, strlen(mark));
	drain_kmsg();
}

static int open_tty(void)
{
	struct winsize w = {};
	struct termios t;
	int fd = open("/dev/tty1", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		die("cannot open /dev/tty1: %m");
	if (strcmp(tty, "copy") == 0 && !tcgetattr(fd, &t)) {
		/* the host's terminal does this already */
		t.c_oflag &= ~OPOST;
		tcsetattr(fd, TCSANOW, &t);
	}
	if (size && sscanf(size, "%hu,%hu", &w.ws_row, &w.ws_col) == 2)
		ioctl(fd, TIOCSWINSZ, &w);
	return fd;
}

static void __attribute__((noreturn)) run_command(int output, int terminal)
{
	static const char * const environment[] = {
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		"USER=root", "LC_ALL=C.UTF-8", "SHELL=/bin/bash",
	};
	sigset_t none;
	size_t i;
	int in;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (output < 0) {
		output = terminal;
		in = terminal;
		ioctl(terminal, TIOCSCTTY, 0);
	} else {
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	dup2(in, 0);
	dup2(output, 1);
	dup2(output, 2);
	clearenv();
	for (i = 0; i < sizeof(environment) / sizeof(*environment); i++)
		putenv((char *)environment[i]);
	setenv("TERM", term, 1);
	execvp(command[0], command);
	fprintf(stderr, "guest: cannot run %s: %m\n", command[0]);
	_exit(errno == ENOENT ? 127 : 126);
}

static void copy_output(int from, int file, int terminal)
{
	static char buf[65536];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0) {
		put(file, buf, n);
		if (terminal >= 0)
			put(terminal, buf, n);
	}
	to_host(file);
}

/* reap whoever died; true once that is the command, or once nobody is left */
static bool reap(pid_t command_pid, bool *nobody)
{
	bool over = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != command_pid)
			continue;
		over = true;
		exit_status = WIFEXITED(status) ? WEXITSTATUS(status) :
						  128 + WTERMSIG(status);
		if (WIFSIGNALED(status))
			reason("the command was killed by signal %d",
			       WTERMSIG(status));
		else if (exit_status)
			reason("the command exits %d", exit_status);
	}
	*nobody = pid < 0;
	return over;
}

/* run the command and follow it, its output and the kernel's log */
static void run(int signals)
{
	struct pollfd fds[3] = { { .events = POLLIN }, { .events = POLLIN },
				 { .events = POLLIN } };
	int pipes[2] = { -1, -1 }, terminal = -1, file = -1;
	struct signalfd_siginfo info;
	long long start, deadline = 0;
	bool nobody = false;
	pid_t pid;

	if (tty)
		terminal = open_tty();
	if (!tty || strcmp(tty, "own")) {
		file = open("/out/output.log", O_WRONLY | O_CREAT | O_TRUNC |
			    O_APPEND | O_CLOEXEC, 0644);
		if (file < 0 || pipe2(pipes, O_CLOEXEC))
			die("cannot open /out/output.log: %m");
		fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	}

	start = now_ms();
	pid = fork();
	if (pid < 0)
		die("cannot fork: %m");
	if (!pid)
		run_command(pipes[1], terminal);
	close(pipes[1]);

	fds[0].fd = signals;
	fds[1].fd = kmsg;
	fds[2].fd = pipes[0];
	while (!nobody) {
		if (poll(fds, 3, deadline ? 100 : -1) < 0 && errno != EINTR)
			die("cannot poll: %m");
		if (fds[0].revents)
			while (read(signals, &info, sizeof(info)) > 0)
				;
		if (fds[1].revents)
			drain_kmsg();
		if (fds[2].revents & POLLIN)
			copy_output(pipes[0], file, terminal);
		else if (fds[2].revents)
			fds[2].fd = -1;
		if (reap(pid, &nobody)) {
			command_ms = now_ms() - start;
			deadline = now_ms() + KILL_MS;
			/* whatever it left behind goes with it */
			kill(-1, SIGKILL);
		}
		if (deadline && !nobody && now_ms() > deadline) {
			reason("processes that the command left do not die");
			break;
		}
	}
	if (file >= 0)
		copy_output(pipes[0], file, terminal);
}

/* decode %XX in place */
static char *decode(char *word)
{
	char *from = word, *to = word;
	unsigned int c;

	while (*from) {
		if (*from == '%' && sscanf(from, "%%%2x", &c) == 1) {
			*to++ = c;
			from += 3;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return word;
}

static void parse(int argc, char **argv)
{
	static const struct {
		const char *name;
		char **value;
	} options[] = {
		{ "tools=", &tools }, { "checkout=", &checkout },
		{ "out=", &out }, { "tty=", &tty }, { "term=", &term },
		{ "size=", &size },
	};
	char *run = NULL;
	int i, n = 0;
	size_t o;

	for (i = 1; i < argc; i++) {
		for (o = 0; o < sizeof(options) / sizeof(*options); o++) {
			size_t len = strlen(options[o].name);

			if (!strncmp(argv[i], options[o].name, len))
				*options[o].value = decode(argv[i] + len);
		}
		if (!strncmp(argv[i], "run=", 4))
			run = argv[i] + 4;
		if (!strncmp(argv[i], "allow=", 6))
			klog.allow = argv[i] + 6;
	}
	if (!tools || !checkout || !out || !run)
		die("it needs tools=, checkout=, out= and run=");
	if (!klog_known_exceptions(klog.allow))
		die("no such kernel-log exception in \"%s\"", klog.allow);
	while (run && n < MAX_WORDS)
		command[n++] = decode(strsep(&run, ","));
	if (run)
		die("the command has more than %d words", MAX_WORDS);
}

int main(int argc, char **argv)
{
	sigset_t mask;
	int signals;

	if (getpid() != 1) {
		fputs("this is the guest's PID 1\n", stderr);
		return 1;
	}
	umask(022);
	parse(argc, argv);
	build_root();
	open_kmsg();
	loopback_up();

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		die("cannot make a signalfd: %m");

	judge_before();
	run(signals);
	judge_leftovers();
	leaks = judge_leaks();

	drain_kmsg();
	klog_end(&klog);
	if (kmsg_lost)
		reason("kernel log: %llu records are lost", kmsg_lost);
	judge_taint();
	write_verdict();
	power_off();
}
