// SPDX-License-Identifier: GPL-2.0
/* Inject a packet through a TUN device with a virtio-net header, as a virtual
 * machine would: checksum left partial, segment size claimed by the sender and
 * trusted by nobody.
 */

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/types.h>
#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FILL		0x5a
#define MAX_LEN		65535

static struct {
	struct virtio_net_hdr vh;
	__u8 ip[MAX_LEN];
} pkt;
static __u8 *const ip = pkt.ip;

static void put16(__u8 *p, unsigned int v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static unsigned int fold(const __u8 *p, size_t len, __u32 sum)
{
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* returns the length of the network header */
static size_t put_ip(int family, const char *src, const char *dst,
		     unsigned int proto, size_t l4_len, bool options)
{
	static const __u8 opts4[] = { 1, 1, 1, 0 };
	size_t hlen;

	if (family == AF_INET) {
		hlen = options ? 24 : 20;
		ip[0] = 0x40 | hlen / 4;
		put16(ip + 2, hlen + l4_len);
		ip[8] = 64;
		ip[9] = proto;
		if (inet_pton(AF_INET, src, ip + 12) != 1 ||
		    inet_pton(AF_INET, dst, ip + 16) != 1)
			errx(1, "bad address");
		if (options)
			memcpy(ip + 20, opts4, sizeof(opts4));
		put16(ip + 10, ~fold(ip, hlen, 0));
		return hlen;
	}
	hlen = options ? 48 : 40;
	ip[0] = 0x60;
	put16(ip + 4, hlen - 40 + l4_len);
	ip[6] = options ? IPPROTO_DSTOPTS : proto;
	ip[7] = 64;
	if (inet_pton(AF_INET6, src, ip + 8) != 1 ||
	    inet_pton(AF_INET6, dst, ip + 24) != 1)
		errx(1, "bad address");
	if (options) {
		/* one PadN option fills the smallest header there is */
		ip[40] = proto;
		ip[42] = 1;
		ip[43] = 4;
	}
	return hlen;
}

static int open_tun(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR };
	int fd, len = sizeof(struct virtio_net_hdr);

	fd = open("/dev/net/tun", O_RDWR);
	if (fd < 0)
		err(1, "/dev/net/tun");
	snprintf(ifr.ifr_name, IFNAMSIZ, "%s", name);
	if (ioctl(fd, TUNSETIFF, &ifr))
		err(1, "TUNSETIFF %s", name);
	if (ioctl(fd, TUNSETVNETHDRSZ, &len))
		err(1, "TUNSETVNETHDRSZ");
	return fd;
}

static void help(void)
{
	fprintf(stderr,
		"usage: tun-inject [-g SIZE] [-H LEN] [-n COUNT] [-S START] [-x] DEV tcp|udp SRC DST LEN\n"
		"  -g  claim segments of SIZE bytes\n"
		"  -H  claim headers of LEN bytes, which become the linear part\n"
		"  -S  claim that the checksum starts START bytes into the packet\n"
		"  -x  with IPv4 options or an IPv6 extension header\n");
	exit(1);
}

int main(int argc, char **argv)
{
	struct virtio_net_hdr *vh = &pkt.vh;
	unsigned int gso = 0, hdr_len = 0, proto, csum_off, addr_off, addr_len;
	size_t nh_len, l4_hlen, len, total;
	int fd, opt, family, count = 1, start = -1;
	bool options = false;
	__u8 *l4;

	while ((opt = getopt(argc, argv, "g:H:n:S:x")) != -1) {
		if (opt == 'g')
			gso = atoi(optarg);
		else if (opt == 'H')
			hdr_len = atoi(optarg);
		else if (opt == 'n')
			count = atoi(optarg);
		else if (opt == 'S')
			start = atoi(optarg);
		else if (opt == 'x')
			options = true;
		else
			help();
	}
	if (argc - optind != 5)
		help();
	argv += optind;
	if (strcmp(argv[1], "tcp") && strcmp(argv[1], "udp"))
		help();
	proto = strcmp(argv[1], "tcp") ? IPPROTO_UDP : IPPROTO_TCP;
	family = strchr(argv[2], ':') ? AF_INET6 : AF_INET;
	len = strtoul(argv[4], NULL, 0);
	l4_hlen = proto == IPPROTO_TCP ? 20 : 8;
	csum_off = proto == IPPROTO_TCP ? 16 : 6;
	if (len > MAX_LEN - 100)
		errx(1, "packet too long");

	nh_len = put_ip(family, argv[2], argv[3], proto, l4_hlen + len,
			options);
	addr_off = family == AF_INET ? 12 : 8;
	addr_len = family == AF_INET ? 8 : 32;
	l4 = ip + nh_len;
	put16(l4, 7000);
	put16(l4 + 2, 7001);
	if (proto == IPPROTO_TCP) {
		l4[12] = 5 << 4;
		l4[13] = 0x10;
		put16(l4 + 14, 4096);
	} else {
		put16(l4 + 4, l4_hlen + len);
	}
	/* the pseudo header's sum: the rest is left to whoever sends it */
	put16(l4 + csum_off, fold(ip + addr_off, addr_len,
				  proto + l4_hlen + len));
	memset(l4 + l4_hlen, FILL, len);

	vh->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	vh->csum_start = start < 0 ? (int)nh_len : start;
	vh->csum_offset = csum_off;
	vh->hdr_len = hdr_len;
	if (gso) {
		vh->gso_size = gso;
		if (proto == IPPROTO_UDP)
			vh->gso_type = VIRTIO_NET_HDR_GSO_UDP_L4;
		else if (family == AF_INET)
			vh->gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
		else
			vh->gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
	}

	fd = open_tun(argv[0]);
	total = sizeof(*vh) + nh_len + l4_hlen + len;
	while (count--)
		if (write(fd, &pkt, total) != (ssize_t)total)
			err(1, "write");
	return 0;
}
