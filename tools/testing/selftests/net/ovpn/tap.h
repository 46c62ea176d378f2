/* SPDX-License-Identifier: GPL-2.0 */
/* A packet socket that is read until SIGTERM comes, or only then.
 *
 * For programs of one file, which end where something is not possible.
 */

#ifndef TAP_H
#define TAP_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/types.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define MAX_PKT		(512 << 10)

struct tap {
	const char *dev;
	int type;		/* SOCK_RAW with offload headers, or DGRAM */
	bool outgoing;		/* packets that the device sends */
	bool lazy;		/* leave packets in the socket until the end */
	bool repeats;		/* outgoing packets that come again, as well */
	unsigned long again;	/* those that came again */
	void (*packet)(const __u8 *p, size_t len, __be16 proto);
	bool (*enough)(void);	/* before SIGTERM comes; may be NULL */
};

static inline int tap_open(const struct tap *tap)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(tap->dev),
	};
	int fd, size = 256 << 20, on = 1;

	if (!sll.sll_ifindex)
		err(1, "%s", tap->dev);
	/* no protocol until the size is set and the device is chosen */
	fd = socket(AF_PACKET, tap->type | SOCK_NONBLOCK, 0);
	if (fd < 0)
		err(1, "socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		err(1, "SO_RCVBUFFORCE");
	if (tap->type == SOCK_RAW &&
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)))
		err(1, "PACKET_VNET_HDR");
	if (bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
		err(1, "bind to %s", tap->dev);
	return fd;
}

/* A busy device gives the packet back to its queue, and the taps see it again
 * with the next attempt, before any other one.
 */
static inline bool tap_seen_before(const __u8 *p, size_t len)
{
	static __u8 last[MAX_PKT];
	static size_t last_len;

	if (len == last_len && !memcmp(p, last, len))
		return true;
	memcpy(last, p, len);
	last_len = len;
	return false;
}

static inline void tap_drain(struct tap *tap, int fd, __u8 *buf)
{
	struct sockaddr_ll from;
	socklen_t from_len;
	ssize_t len;
	bool sent;

	for (;;) {
		from_len = sizeof(from);
		len = recvfrom(fd, buf, MAX_PKT, 0, (struct sockaddr *)&from,
			       &from_len);
		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0)
			err(1, "recvfrom");
		sent = from.sll_pkttype == PACKET_OUTGOING;
		if (sent != tap->outgoing)
			continue;
		if (sent && !tap->repeats && tap_seen_before(buf, len)) {
			tap->again++;
			continue;
		}
		tap->packet(buf, len, from.sll_protocol);
	}
}

/* returns how many packets there was no room for */
static inline unsigned int tap_run(struct tap *tap)
{
	struct pollfd pfd[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct tpacket_stats st;
	socklen_t len = sizeof(st);
	sigset_t stop;
	__u8 *buf;

	buf = malloc(MAX_PKT);
	if (!buf)
		err(1, "malloc");
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	pfd[0].fd = signalfd(-1, &stop, 0);
	if (pfd[0].fd < 0)
		err(1, "signalfd");
	pfd[1].fd = tap_open(tap);
	puts("ready");
	fflush(stdout);
	while (!(pfd[0].revents & POLLIN)) {
		if (poll(pfd, tap->lazy ? 1 : 2, -1) < 0)
			err(1, "poll");
		if (!tap->lazy)
			tap_drain(tap, pfd[1].fd, buf);
		if (tap->enough && tap->enough())
			break;
	}
	/* what is in the socket was sent before the signal */
	tap_drain(tap, pfd[1].fd, buf);
	free(buf);
	if (getsockopt(pfd[1].fd, SOL_PACKET, PACKET_STATISTICS, &st, &len))
		err(1, "PACKET_STATISTICS");
	return st.tp_drops;
}

#endif /* TAP_H */
