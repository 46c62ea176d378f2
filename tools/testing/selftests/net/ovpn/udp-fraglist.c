// SPDX-License-Identifier: GPL-2.0
/* Hand one UDP datagram to the device as a chain of skbs that is not GSO.
 *
 * A corked socket builds skbs of the size that the route's MTU allows.  The
 * MTU that applies when the cork is pulled is the device's, because the socket
 * has stopped to honour the route's in between.  With a large device MTU
 * nothing is fragmented any more: the device is given a frag_list.
 */

#include <arpa/inet.h>
#include <err.h>
#include <linux/types.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FILL	0x5a

int main(int argc, char **argv)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	int fd, ret, on = 1, off = 0, probe, pieces, len;
	struct addrinfo *ai;
	__u8 buf[2048];

	if (argc != 5) {
		fprintf(stderr, "usage: udp-fraglist ADDR PORT PIECES LEN\n");
		return 1;
	}
	pieces = atoi(argv[3]);
	len = atoi(argv[4]);
	if (pieces < 1 || len < 1 || len > (int)sizeof(buf))
		errx(1, "bad size");
	ret = getaddrinfo(argv[1], argv[2], &hints, &ai);
	if (ret)
		errx(1, "%s: %s", argv[1], gai_strerror(ret));
	fd = socket(ai->ai_family, SOCK_DGRAM, 0);
	if (fd < 0)
		err(1, "socket");
	if (connect(fd, ai->ai_addr, ai->ai_addrlen))
		err(1, "connect");
	if (setsockopt(fd, IPPROTO_UDP, UDP_CORK, &on, sizeof(on)))
		err(1, "UDP_CORK");
	memset(buf, FILL, sizeof(buf));
	while (pieces--)
		if (send(fd, buf, len, 0) != len)
			err(1, "send");
	if (ai->ai_family == AF_INET) {
		probe = IP_PMTUDISC_PROBE;
		ret = setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe,
				 sizeof(probe));
	} else {
		probe = IPV6_PMTUDISC_PROBE;
		ret = setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe,
				 sizeof(probe));
	}
	if (ret)
		err(1, "MTU_DISCOVER");
	if (setsockopt(fd, IPPROTO_UDP, UDP_CORK, &off, sizeof(off)))
		err(1, "pull the cork");
	freeaddrinfo(ai);
	return 0;
}
