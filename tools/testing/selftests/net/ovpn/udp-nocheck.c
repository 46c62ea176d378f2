// SPDX-License-Identifier: GPL-2.0
/* Switch the UDP checksums of somebody else's sockets off or on, to turn a
 * socket that ovpn-cli holds for the driver into one without checksums.
 */

#include <err.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX	101
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX	102
#endif
#define MAX_FD	64

static void set(int fd, int off)
{
	/* both families, because one socket may serve both; and who sends
	 * without checksums is sent to without
	 */
	if (setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &off, sizeof(off)))
		err(1, "SO_NO_CHECK");
	if (setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, &off, sizeof(off)))
		err(1, "UDP_NO_CHECK6_TX");
	if (setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, &off, sizeof(off)))
		err(1, "UDP_NO_CHECK6_RX");
}

int main(int argc, char **argv)
{
	int pidfd, fd, their, off, type, found = 0;
	socklen_t len;

	if (argc != 3) {
		fprintf(stderr, "usage: udp-nocheck PID 0|1\n");
		return 1;
	}
	off = atoi(argv[2]);
	pidfd = syscall(SYS_pidfd_open, atoi(argv[1]), 0);
	if (pidfd < 0)
		err(1, "process %s", argv[1]);
	for (their = 0; their < MAX_FD; their++) {
		fd = syscall(SYS_pidfd_getfd, pidfd, their, 0);
		if (fd < 0)
			continue;
		len = sizeof(type);
		if (!getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &type, &len) &&
		    type == IPPROTO_UDP) {
			set(fd, off);
			found++;
		}
		close(fd);
	}
	if (!found)
		errx(1, "process %s has no UDP socket", argv[1]);
	return 0;
}
