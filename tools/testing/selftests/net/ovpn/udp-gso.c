// SPDX-License-Identifier: GPL-2.0
/* Send UDP datagrams of given sizes, alone or in UDP_SEGMENT batches, and
 * count them at the other end.  Every payload byte is FILL, so that whoever
 * captures them can tell plaintext from anything else.
 */

#include <arpa/inet.h>
#include <err.h>
#include <linux/types.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif

#define FILL		0x5a
#define MAX_LEN		65536
#define PATIENCE_MS	15000

static __u8 buf[MAX_LEN];

static int open_socket(const char *addr, const char *port, bool passive)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	struct addrinfo *ai;
	int fd, ret;

	ret = getaddrinfo(addr, port, &hints, &ai);
	if (ret)
		errx(1, "%s: %s", addr, gai_strerror(ret));
	fd = socket(ai->ai_family, SOCK_DGRAM, 0);
	if (fd < 0)
		err(1, "socket");
	ret = passive ? bind(fd, ai->ai_addr, ai->ai_addrlen) :
			connect(fd, ai->ai_addr, ai->ai_addrlen);
	if (ret)
		err(1, "%s port %s", addr, port);
	freeaddrinfo(ai);
	return fd;
}

/* move the transport header away from where a plain packet has it */
static void add_options(int fd)
{
	static const __u8 opts4[] = { 1, 1, 1, 0 };
	static const __u8 dstopts6[] = { 0, 0, 1, 4, 0, 0, 0, 0 };
	socklen_t len = sizeof(int);
	int family;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len))
		err(1, "SO_DOMAIN");
	if (family == AF_INET) {
		if (setsockopt(fd, IPPROTO_IP, IP_OPTIONS, opts4,
			       sizeof(opts4)))
			err(1, "IP_OPTIONS");
	} else if (setsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, dstopts6,
			      sizeof(dstopts6))) {
		err(1, "IPV6_DSTOPTS");
	}
}

static int do_send(int argc, char **argv)
{
	int fd, opt, i, seg = 0, count = 1, size = 4 << 20;
	bool options = false;
	long len;

	while ((opt = getopt(argc, argv, "g:n:x")) != -1) {
		if (opt == 'g')
			seg = atoi(optarg);
		else if (opt == 'n')
			count = atoi(optarg);
		else if (opt == 'x')
			options = true;
		else
			return -1;
	}
	if (argc - optind < 3)
		return -1;
	fd = open_socket(argv[optind], argv[optind + 1], false);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		err(1, "SO_SNDBUFFORCE");
	if (options)
		add_options(fd);
	if (seg && setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof(seg)))
		err(1, "UDP_SEGMENT");
	memset(buf, FILL, sizeof(buf));
	while (count--) {
		for (i = optind + 2; i < argc; i++) {
			len = atol(argv[i]);
			if (len < 0 || len > MAX_LEN)
				errx(1, "bad length %s", argv[i]);
			if (send(fd, buf, len, 0) != len)
				err(1, "send %ld bytes", len);
		}
	}
	return 0;
}

static int do_recv(int argc, char **argv)
{
	unsigned long datagrams = 0, bytes = 0, want, want_bytes;
	int fd, size = 128 << 20;
	struct pollfd pfd;
	ssize_t len, i;

	if (argc != 5)
		return -1;
	want = strtoul(argv[3], NULL, 0);
	want_bytes = strtoul(argv[4], NULL, 0);
	fd = open_socket(argv[1], argv[2], true);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		err(1, "SO_RCVBUFFORCE");
	puts("ready");
	fflush(stdout);
	pfd.fd = fd;
	pfd.events = POLLIN;
	while (datagrams < want) {
		if (poll(&pfd, 1, PATIENCE_MS) <= 0)
			errx(1, "got %lu of %lu datagrams", datagrams, want);
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			err(1, "recv");
		for (i = 0; i < len; i++)
			if (buf[i] != FILL)
				errx(1, "datagram %lu damaged at byte %zd",
				     datagrams, i);
		datagrams++;
		bytes += len;
	}
	if (bytes != want_bytes)
		errx(1, "got %lu of %lu bytes", bytes, want_bytes);
	return 0;
}

int main(int argc, char **argv)
{
	int ret = -1;

	if (argc > 1 && !strcmp(argv[1], "send"))
		ret = do_send(argc - 1, argv + 1);
	else if (argc > 1 && !strcmp(argv[1], "recv"))
		ret = do_recv(argc - 1, argv + 1);
	if (ret < 0) {
		fprintf(stderr,
			"usage: udp-gso send [-g SEGMENT] [-n COUNT] [-x] ADDR PORT LEN...\n"
			"       udp-gso recv ADDR PORT DATAGRAMS BYTES\n"
			"  -g  cut each LEN into datagrams of SEGMENT bytes\n"
			"  -x  with IPv4 options or an IPv6 extension header\n");
		return 1;
	}
	return ret;
}
