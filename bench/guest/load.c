// SPDX-License-Identifier: GPL-2.0
/*
 * load: the traffic of a reading, and how much of it arrived.
 *
 *	load sink PORT
 *	load stream ADDRESS PORT FLOWS [PEERS SOURCE]
 *	load rr ADDRESS PORT
 *	load udp ADDRESS PORT SIZE SEGMENTS
 *
 * sink takes TCP connections and UDP datagrams and counts what it was given in
 * the first words of COUNTERS, where meter reads it.  stream writes 1 MiB at a
 * time to each of FLOWS connections, as iperf3 -l 1M does; with PEERS, connection
 * i goes to the i-th address after ADDRESS and comes from the i-th after SOURCE.
 * rr sends one byte and waits for one.  udp sends datagrams of SIZE bytes,
 * SEGMENTS of them in each call (UDP_SEGMENT), and waits for an answer of the
 * sink whenever a window of bytes or datagrams is on the way: as much of QUIC as
 * matters here, and no receive queue runs over.
 *
 * One thing less than iperf3 does: nothing is timed, printed or agreed upon.
 */

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counters.h"

#define CHUNK	(1 << 20)
#define WINDOW_DATAGRAMS 128
#define WINDOW_BYTES	(128 << 10)

static char buf[CHUNK];

struct end {
	struct sockaddr_storage sa;
	socklen_t len;
};

/* the nth address after TEXT */
static struct end address(const char *text, int port, uint32_t nth)
{
	struct end e = { 0 };
	struct sockaddr_in *in = (void *)&e.sa;
	struct sockaddr_in6 *in6 = (void *)&e.sa;
	uint32_t low;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		low = ntohl(in->sin_addr.s_addr) + nth;
		in->sin_addr.s_addr = htonl(low);
		e.len = sizeof(*in);
	} else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		memcpy(&low, in6->sin6_addr.s6_addr + 12, 4);
		low = htonl(ntohl(low) + nth);
		memcpy(in6->sin6_addr.s6_addr + 12, &low, 4);
		e.len = sizeof(*in6);
	} else {
		errx(1, "no address: %s", text);
	}
	return e;
}

static void watch(int ep, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		err(1, "epoll");
}

/* --- the receiving side --- */

static struct counters *count_here(void)
{
	struct counters *c;
	int fd = open(COUNTERS, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || ftruncate(fd, sizeof(*c)))
		err(1, COUNTERS);
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		err(1, COUNTERS);
	close(fd);
	return c;
}

static int listener(int type, int port)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	int one = 1, room = 8 << 20;
	int s = socket(AF_INET6, type, 0);

	if (s < 0 ||
	    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(s, (void *)&any, sizeof(any)))
		err(1, "port %d", port);
	if (type == SOCK_STREAM) {
		if (listen(s, 4096))
			err(1, "listen");
	} else if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room,
			      sizeof(room)) ||
		   setsockopt(s, IPPROTO_UDP, UDP_GRO, &one, sizeof(one))) {
		err(1, "UDP socket");
	}
	return s;
}

/* an answer for each half window, so that the sender never runs dry; it says
 * how much has arrived so far
 */
struct answer {
	uint64_t bytes;
	uint64_t datagrams;
};

static void take_datagrams(int s, struct counters *c)
{
	static struct answer got, told;
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { buf, sizeof(buf) };
	struct sockaddr_storage from;
	struct msghdr m = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cm;
	ssize_t n = recvmsg(s, &m, MSG_DONTWAIT);
	int size;

	if (n < 0) {
		if (errno == EAGAIN)
			return;
		err(1, "recvmsg");
	}
	size = n;
	cm = CMSG_FIRSTHDR(&m);
	if (cm && cm->cmsg_level == IPPROTO_UDP && cm->cmsg_type == UDP_GRO)
		memcpy(&size, CMSG_DATA(cm), sizeof(size));
	got.bytes += n;
	got.datagrams += size ? (n + size - 1) / size : 1;
	c->bytes += n;
	c->calls += size ? (n + size - 1) / size : 1;
	if (got.datagrams - told.datagrams < WINDOW_DATAGRAMS / 2 &&
	    got.bytes - told.bytes < WINDOW_BYTES / 2)
		return;
	told = got;
	if (sendto(s, &told, sizeof(told), 0, (void *)&from,
		   m.msg_namelen) != sizeof(told))
		err(1, "answering");
}

static void sink(int port)
{
	struct counters *c = count_here();
	int tcp = listener(SOCK_STREAM, port), udp = listener(SOCK_DGRAM, port);
	int ep = epoll_create1(0);

	watch(ep, tcp, EPOLLIN);
	watch(ep, udp, EPOLLIN);
	if (daemon(1, 1))
		err(1, "daemon");
	while (1) {
		struct epoll_event ev[64];
		int i, n = epoll_wait(ep, ev, 64, -1);

		if (n < 0)
			err(1, "epoll_wait");
		for (i = 0; i < n; i++) {
			int fd = ev[i].data.fd;
			ssize_t got;

			if (fd == udp) {
				take_datagrams(fd, c);
				continue;
			}
			if (fd == tcp) {
				int one = 1;

				fd = accept(tcp, NULL, NULL);
				if (fd < 0)
					err(1, "accept");
				setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
					   sizeof(one));
				watch(ep, fd, EPOLLIN);
				continue;
			}
			got = read(fd, buf, sizeof(buf));
			if (got <= 0) {
				close(fd);
				continue;
			}
			c->bytes += got;
			c->calls++;
			/* one byte is a question of rr */
			if (got == 1 && write(fd, buf, 1) != 1)
				close(fd);
		}
	}
}

/* --- the sending side --- */

static int connection(const char *to, int port, const char *from, uint32_t nth)
{
	struct end e = address(to, port, nth);
	int s = socket(e.sa.ss_family, SOCK_STREAM, 0);

	if (s < 0)
		err(1, "socket");
	if (from) {
		struct end f = address(from, 0, nth);

		if (bind(s, (void *)&f.sa, f.len))
			err(1, "bind");
	}
	if (connect(s, (void *)&e.sa, e.len))
		err(1, "connect to %s", to);
	return s;
}

static void stream(char **argv, int argc)
{
	uint32_t i, flows = atoi(argv[2]), peers = argc > 3 ? atoi(argv[3]) : 1;
	const char *from = argc > 4 ? argv[4] : NULL;
	int ep = epoll_create1(0);

	if (flows == 1) {
		int s = connection(argv[0], atoi(argv[1]), from, 0);

		while (write(s, buf, sizeof(buf)) > 0)
			;
		err(1, "write");
	}
	for (i = 0; i < flows; i++) {
		int s = connection(argv[0], atoi(argv[1]), from, i % peers);

		if (fcntl(s, F_SETFL, O_NONBLOCK))
			err(1, "fcntl");
		watch(ep, s, EPOLLOUT);
	}
	while (1) {
		struct epoll_event ev[64];
		int k, n = epoll_wait(ep, ev, 64, -1);

		for (k = 0; k < n; k++)
			if (write(ev[k].data.fd, buf, sizeof(buf)) < 0 &&
			    errno != EAGAIN)
				err(1, "write");
	}
}

static void rr(char **argv)
{
	int one = 1, s = connection(argv[0], atoi(argv[1]), NULL, 0);

	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (write(s, buf, 1) == 1 && read(s, buf, 1) == 1)
		;
	err(1, "request and response");
}

static void udp(char **argv)
{
	int size = atoi(argv[2]), segments = atoi(argv[3]);
	struct end e = address(argv[0], atoi(argv[1]), 0);
	int s = socket(e.sa.ss_family, SOCK_DGRAM, 0);
	struct answer sent = { 0 }, there = { 0 };
	int length = size * segments;

	if (s < 0 || connect(s, (void *)&e.sa, e.len))
		err(1, "UDP socket");
	if (segments > 1 &&
	    setsockopt(s, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof(size)))
		err(1, "UDP_SEGMENT");
	while (1) {
		if (write(s, buf, length) != length)
			err(1, "write");
		sent.datagrams += segments;
		sent.bytes += length;
		while (sent.datagrams + segments - there.datagrams >
		       WINDOW_DATAGRAMS ||
		       sent.bytes + length - there.bytes > WINDOW_BYTES)
			if (read(s, &there, sizeof(there)) != sizeof(there))
				err(1, "waiting for an answer");
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "sink") && argc == 3)
		sink(atoi(argv[2]));
	if (!strcmp(what, "stream") && (argc == 5 || argc == 7))
		stream(argv + 2, argc - 2);
	if (!strcmp(what, "rr") && argc == 4)
		rr(argv + 2);
	if (!strcmp(what, "udp") && argc == 6)
		udp(argv + 2);
	errx(1, "usage: load sink PORT | stream ADDRESS PORT FLOWS [PEERS SOURCE]"
	     " | rr ADDRESS PORT | udp ADDRESS PORT SIZE SEGMENTS");
}
