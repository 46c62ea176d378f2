/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs of the batch tests have in common beyond their sockets:
 * numbers as they are on the wire, and datagrams that are known by a number.
 *
 * For programs of one file, which end where something is not possible.
 */

#ifndef BATCH_H
#define BATCH_H

#include <arpa/inet.h>
#include <linux/types.h>
#include <poll.h>
#include <unistd.h>

#include "sockets.h"

static inline __u32 get16(const __u8 *p)
{
	return p[0] << 8 | p[1];
}

static inline __u32 get32(const __u8 *p)
{
	return get16(p) << 16 | get16(p + 2);
}

static inline void put16(__u8 *p, unsigned int v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline void put32(__u8 *p, __u32 v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

/* byte of a datagram of that number */
static inline __u8 pattern(__u32 number, unsigned int at)
{
	return (number * 40503u + at * 2654435761u) >> 13;
}

static inline void bind_port(int fd, int family, unsigned int port)
{
	struct sockaddr_in6 any6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	struct sockaddr_in any4 = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};

	if (family == AF_INET ?
	    bind(fd, (struct sockaddr *)&any4, sizeof(any4)) :
	    bind(fd, (struct sockaddr *)&any6, sizeof(any6)))
		err(1, "port %u", port);
}

/* The CPU is ours until standard input ends: with a real-time priority, nothing
 * else that is bound to it runs before.
 */
static inline void keep_cpu(void)
{
	struct pollfd pfd = { .fd = STDIN_FILENO, .events = POLLIN };

	say("sent");
	while (!poll(&pfd, 1, 0))
		;
}

#endif /* BATCH_H */
