// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of the bench's guest: mounts what programs expect, runs one script, and
 * resets the machine, which ends QEMU.  Whether the run was good is for the
 * last line of the results to say, not for this program.
 */

#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void must_mount(const char *type, const char *where)
{
	mkdir(where, 0755);
	if (mount(type, where, type, 0, NULL))
		perror(where);
}

int main(void)
{
	char *argv[] = { "/bin/sh", "/bench/guest/main.sh", NULL };
	char *env[] = { "PATH=/bench/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/tmp", "LC_ALL=C", NULL };
	pid_t script, pid;

	must_mount("proc", "/proc");
	must_mount("sysfs", "/sys");
	must_mount("devtmpfs", "/dev");
	must_mount("tmpfs", "/run");
	must_mount("tmpfs", "/tmp");
	must_mount("debugfs", "/sys/kernel/debug");

	script = fork();
	if (!script) {
		execve(argv[0], argv, env);
		perror(argv[0]);
		_exit(127);
	}
	do {
		pid = wait(NULL);
	} while (pid > 0 && pid != script);
	sync();
	reboot(RB_AUTOBOOT);
	return 1;
}
