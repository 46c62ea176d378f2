// SPDX-License-Identifier: GPL-2.0
/* Send UDP datagrams of given sizes, alone or in UDP_SEGMENT batches, and
 * count them at the other end.  Every payload byte is FILL, so that whoever
 * captures them can tell plaintext from anything else.
 */

#include <linux/types.h>
#include <poll.h>
#include <stdlib.h>

#include "sockets.h"

#define FILL		0x5a
#define MAX_LEN		65536
#define PATIENCE_MS	15000

static __u8 buf[MAX_LEN];

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
	int fd, opt, i, seg = 0, count = 1;
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
	fd = open_socket(SOCK_DGRAM, argv[optind], argv[optind + 1], false);
	set_send_buffer(fd, 4 << 20);
	if (options)
		add_options(fd);
	if (seg)
		set_segment(fd, seg);
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
	struct pollfd pfd;
	ssize_t len, i;
	int fd;

	if (argc != 5)
		return -1;
	want = strtoul(argv[3], NULL, 0);
	want_bytes = strtoul(argv[4], NULL, 0);
	fd = open_socket(SOCK_DGRAM, argv[1], argv[2], true);
	set_receive_buffer(fd, 128 << 20);
	say("ready");
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

static const struct command commands[] = {
	{ "send", do_send },
	{ "recv", do_recv },
};

int main(int argc, char **argv)
{
	return run_command(commands, ARRAY_SIZE(commands), argc, argv,
	"usage: udp-gso send [-g SEGMENT] [-n COUNT] [-x] ADDR PORT LEN...\n"
	"       udp-gso recv ADDR PORT DATAGRAMS BYTES\n"
	"  -g  cut each LEN into datagrams of SEGMENT bytes\n"
	"  -x  with IPv4 options or an IPv6 extension header\n");
}
