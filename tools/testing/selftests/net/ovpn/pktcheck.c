// SPDX-License-Identifier: GPL-2.0
/* Verify the checksums of the packets that a tunnel device hands over.
 *
 * The receiving stack is no witness here: what it is told about a checksum
 * (skb->ip_summed, PACKET_AUXDATA) depends on the code under test. So every
 * IPv4 header, TCP, UDP, ICMP, ICMPv6 and SCTP checksum is computed again from
 * the captured bytes, also behind one GRE, VXLAN or IP-in-IP header.
 *
 * GRO has to be off on the device, or the capture sees merged packets.
 */

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_PKT		(512 << 10)
#define VXLAN_PORT	4789
#define MAX_DEPTH	2

enum kind { TCP, UDP, SCTP, ICMP, ICMP6, GRE, OTHER, KINDS };

static const char * const kind_name[KINDS] = {
	"tcp", "udp", "sctp", "icmp", "icmp6", "gre", "other",
};

static struct {
	unsigned long ok[KINDS];
	unsigned long bad;	/* wrong checksum or malformed */
	unsigned long none;	/* IPv4 UDP without a checksum */
	unsigned long frag;	/* only the IP header can be checked */
	unsigned long dirty;	/* payload is not the fill byte */
	unsigned long packets;
	unsigned long payload;	/* TCP and UDP payload bytes */
	unsigned int max;	/* longest packet */
} cnt;

static int fill = -1;		/* payload byte to expect, -1 for any */
static bool outgoing;		/* before the offload: no checksums yet */
static bool lazy;		/* leave packets in the socket until the end */
static bool verbose;

static uint32_t crc_table[256];

static void crc32c_init(void)
{
	uint32_t crc;
	int i, bit;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
		crc_table[i] = crc;
	}
}

static uint32_t crc32c(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len--)
		crc = crc_table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}

static uint32_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t sum16(uint32_t sum, const uint8_t *p, size_t len)
{
	for (; len > 1; p += 2, len -= 2) {
		sum += get16(p);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	if (len)
		sum += *p << 8;
	return (sum & 0xffff) + (sum >> 16);
}

static bool sum_is_good(uint32_t sum)
{
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/* what a transport checksum needs to know of the header before it */
struct pseudo {
	const uint8_t *addrs;
	unsigned int addrs_len;
};

static uint32_t pseudo_sum(const struct pseudo *ph, uint8_t proto, size_t len)
{
	uint32_t sum = sum16(0, ph->addrs, ph->addrs_len);

	sum += proto + (len >> 16) + (len & 0xffff);
	return (sum & 0xffff) + (sum >> 16);
}

static const char *check_ip(const uint8_t *p, size_t len, int depth);

static const char *check_eth(const uint8_t *p, size_t len, int depth)
{
	unsigned int type;

	if (len < ETH_HLEN)
		return "short inner frame";
	type = get16(p + 12);
	if (type != ETH_P_IP && type != ETH_P_IPV6) {
		cnt.ok[OTHER]++;
		return NULL;
	}
	return check_ip(p + ETH_HLEN, len - ETH_HLEN, depth);
}

static void check_payload(const uint8_t *p, size_t len)
{
	cnt.payload += len;
	if (fill < 0)
		return;
	while (len--) {
		if (*p++ != fill) {
			cnt.dirty++;
			return;
		}
	}
}

static const char *check_tcp(const uint8_t *p, size_t len,
			     const struct pseudo *ph)
{
	size_t hlen;

	if (len < 20)
		return "short tcp";
	hlen = (p[12] >> 4) * 4;
	if (hlen < 20 || hlen > len)
		return "tcp header length";
	if (!outgoing &&
	    !sum_is_good(sum16(pseudo_sum(ph, IPPROTO_TCP, len), p, len)))
		return "tcp checksum";
	check_payload(p + hlen, len - hlen);
	cnt.ok[TCP]++;
	return NULL;
}

static const char *check_udp(const uint8_t *p, size_t len,
			     const struct pseudo *ph, int depth)
{
	size_t ulen;

	if (len < 8)
		return "short udp";
	/* a super-packet may carry the length of one of its datagrams */
	ulen = outgoing ? len : get16(p + 4);
	if (ulen != len)
		return "udp length";
	if (!get16(p + 6)) {
		if (ph->addrs_len == 32)
			return "udp without checksum over IPv6";
		cnt.none++;
	} else if (!outgoing &&
		   !sum_is_good(sum16(pseudo_sum(ph, IPPROTO_UDP, len),
				      p, len))) {
		return "udp checksum";
	}
	cnt.ok[UDP]++;
	if (get16(p + 2) == VXLAN_PORT && depth < MAX_DEPTH) {
		if (len < 16)
			return "short vxlan";
		return check_eth(p + 16, len - 16, depth + 1);
	}
	check_payload(p + 8, len - 8);
	return NULL;
}

static const char *check_sctp(const uint8_t *p, size_t len)
{
	static const uint8_t zero[4];
	uint32_t crc;

	if (len < 12)
		return "short sctp";
	crc = crc32c(~0u, p, 8);
	crc = crc32c(crc, zero, 4);
	crc = ~crc32c(crc, p + 12, len - 12);
	/* least significant byte first */
	if (!outgoing && crc != ((uint32_t)p[11] << 24 | p[10] << 16 |
				 p[9] << 8 | p[8]))
		return "sctp crc";
	cnt.ok[SCTP]++;
	return NULL;
}

static const char *check_gre(const uint8_t *p, size_t len, int depth)
{
	unsigned int flags, type;
	size_t hlen = 4;

	if (len < 4)
		return "short gre";
	flags = get16(p);
	type = get16(p + 2);
	if (flags & 0x8000)
		hlen += 4;
	if (flags & 0x2000)
		hlen += 4;
	if (flags & 0x1000)
		hlen += 4;
	if (hlen > len)
		return "short gre";
	if (!outgoing && flags & 0x8000 && !sum_is_good(sum16(0, p, len)))
		return "gre checksum";
	cnt.ok[GRE]++;
	if (type == ETH_P_TEB)
		return check_eth(p + hlen, len - hlen, depth + 1);
	if (type == ETH_P_IP || type == ETH_P_IPV6)
		return check_ip(p + hlen, len - hlen, depth + 1);
	cnt.ok[OTHER]++;
	return NULL;
}

static const char *check_transport(uint8_t proto, const uint8_t *p, size_t len,
				   const struct pseudo *ph, int depth)
{
	switch (proto) {
	case IPPROTO_TCP:
		return check_tcp(p, len, ph);
	case IPPROTO_UDP:
		return check_udp(p, len, ph, depth);
	case IPPROTO_SCTP:
		return check_sctp(p, len);
	case IPPROTO_ICMP:
		if (!outgoing && !sum_is_good(sum16(0, p, len)))
			return "icmp checksum";
		cnt.ok[ICMP]++;
		return NULL;
	case IPPROTO_ICMPV6:
		if (!outgoing &&
		    !sum_is_good(sum16(pseudo_sum(ph, proto, len), p, len)))
			return "icmpv6 checksum";
		cnt.ok[ICMP6]++;
		return NULL;
	case IPPROTO_GRE:
		return check_gre(p, len, depth);
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
		return check_ip(p, len, depth + 1);
	}
	cnt.ok[OTHER]++;
	return NULL;
}

static const char *check_ip4(const uint8_t *p, size_t len, int depth)
{
	struct pseudo ph = { .addrs = p + 12, .addrs_len = 8 };
	size_t hlen, tot;

	if (len < 20)
		return "short IPv4";
	hlen = (p[0] & 15) * 4;
	tot = get16(p + 2);
	/* longer than 64 KiB: the length field is zero */
	if (outgoing && !tot)
		tot = len;
	if (hlen < 20 || tot < hlen || tot != len)
		return "IPv4 length";
	if (!sum_is_good(sum16(0, p, hlen)))
		return "IPv4 header checksum";
	if (get16(p + 6) & 0x3fff) {
		cnt.frag++;
		return NULL;
	}
	return check_transport(p[9], p + hlen, tot - hlen, &ph, depth);
}

static const char *check_ip6(const uint8_t *p, size_t len, int depth)
{
	struct pseudo ph = { .addrs = p + 8, .addrs_len = 32 };
	size_t off = 40, plen;
	uint8_t next;

	if (len < 40)
		return "short IPv6";
	plen = get16(p + 4);
	if (outgoing && !plen)
		plen = len - off;
	if (plen + off != len)
		return "IPv6 length";
	next = p[6];
	while (next == IPPROTO_HOPOPTS || next == IPPROTO_DSTOPTS ||
	       next == IPPROTO_FRAGMENT) {
		if (off + 8 > len)
			return "short IPv6 extension header";
		if (next == IPPROTO_FRAGMENT) {
			cnt.frag++;
			return NULL;
		}
		next = p[off];
		off += (p[off + 1] + 1) * 8;
		if (off > len)
			return "short IPv6 extension header";
	}
	return check_transport(next, p + off, len - off, &ph, depth);
}

static const char *check_ip(const uint8_t *p, size_t len, int depth)
{
	if (len && p[0] >> 4 == 4)
		return check_ip4(p, len, depth);
	if (len && p[0] >> 4 == 6)
		return check_ip6(p, len, depth);
	return "neither IPv4 nor IPv6";
}

static void check_packet(const uint8_t *p, size_t len)
{
	const char *fault = check_ip(p, len, 0);

	cnt.packets++;
	if (len > cnt.max)
		cnt.max = len;
	if (!fault)
		return;
	cnt.bad++;
	if (verbose)
		fprintf(stderr, "packet %lu, %zu bytes: %s\n", cnt.packets, len,
			fault);
}

struct vector {
	const char *name;
	const char *hex;
};

static const struct vector good[] = {
	{ "tcp over IPv4",
	  "450000310007400040064e89c0000201c633640203e807d00000000100000002"
	  "50181000ce0400006f76706e2074657374" },
	{ "tcp over IPv4 with options",
	  "460000350007400040064b84c0000201c63364020101010003e807d000000001"
	  "0000000250181000ce0400006f76706e2074657374" },
	{ "tcp over IPv6",
	  "60000000001d064020010db800000000000000000000000120010db800010000"
	  "000000000000000203e807d00000000100000002501810005ec600006f76706e"
	  "2074657374" },
	{ "udp over IPv4",
	  "450000250007400040114e8ac0000201c633640203e807d000112e106f76706e"
	  "2074657374" },
	{ "udp over IPv6",
	  "600000000011114020010db800000000000000000000000120010db800010000"
	  "000000000000000203e807d00011bed16f76706e2074657374" },
	{ "udp over IPv6 with destination options",
	  "6000000000193c4020010db800000000000000000000000120010db800010000"
	  "0000000000000002110001040000000003e807d00011bed16f76706e20746573"
	  "74" },
	{ "sctp over IPv4",
	  "4500003c0007400040844e00c0000201c633640203e807d01122334449372f0f"
	  "000300190000000100000000000000006f76706e2074657374000000" },
	{ "sctp over IPv6",
	  "600000000028844020010db800000000000000000000000120010db800010000"
	  "000000000000000203e807d01122334449372f0f000300190000000100000000"
	  "000000006f76706e2074657374000000" },
	{ "icmp",
	  "450000250007400040014e9ac0000201c633640208001e31000100016f76706e"
	  "2074657374" },
	{ "icmpv6",
	  "6000000000113a4020010db800000000000000000000000120010db800010000"
	  "000000000000000280004a6f000100016f76706e2074657374" },
	{ "tcp in gre over IPv4",
	  "4500004900074000402f4e48c0000201c6336402000008004500003100074000"
	  "40064e89c0000201c633640203e807d0000000010000000250181000ce040000"
	  "6f76706e2074657374" },
	{ "udp in vxlan over IPv6",
	  "600000000043114020010db800000000000000000000000120010db800010000"
	  "000000000000000203e812b5004362af08000000000007000000000000000000"
	  "000000000800450000250007400040114e8ac0000201c633640203e807d00011"
	  "2e106f76706e2074657374" },
	{ "tcp in IPv6 in IPv4",
	  "450000590007400040294e3ec0000201c633640260000000001d064020010db8"
	  "00000000000000000000000120010db800010000000000000000000203e807d0"
	  "0000000100000002501810005ec600006f76706e2074657374" },
};

/* what an offload that nobody completed leaves behind */
static const struct vector bad[] = {
	{ "tcp checksum left partial",
	  "450000310007400040064e89c0000201c633640203e807d00000000100000002"
	  "50181000ec5a00006f76706e2074657374" },
	{ "udp checksum left partial over IPv6",
	  "600000000011114020010db800000000000000000000000120010db800010000"
	  "000000000000000203e807d000115b986f76706e2074657374" },
	{ "udp over IPv6 without checksum",
	  "600000000011114020010db800000000000000000000000120010db800010000"
	  "000000000000000203e807d0001100006f76706e2074657374" },
	{ "sctp without CRC",
	  "4500003c0007400040844e00c0000201c633640203e807d01122334400000000"
	  "000300190000000100000000000000006f76706e2074657374000000" },
	{ "tcp checksum left partial in gre",
	  "4500004900074000402f4e48c0000201c6336402000008004500003100074000"
	  "40064e89c0000201c633640203e807d0000000010000000250181000ec5a0000"
	  "6f76706e2074657374" },
};

static size_t unhex(const char *hex, uint8_t *p)
{
	size_t len = 0;

	for (; hex[0]; hex += 2, len++)
		if (sscanf(hex, "%2hhx", &p[len]) != 1)
			errx(1, "bad vector");
	if (len < 20)
		errx(1, "short vector");
	return len;
}

static int expect(const char *name, const char *what, const uint8_t *p,
		  size_t len, bool want)
{
	const char *fault = check_ip(p, len, 0);

	if (!fault == want)
		return 0;
	fprintf(stderr, "self-test: %s%s: %s\n", name, what,
		fault ? fault : "accepted");
	return 1;
}

static int self_test(void)
{
	int failed = 0;
	uint8_t p[256];
	size_t i, len;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		len = unhex(good[i].hex, p);
		failed += expect(good[i].name, "", p, len, true);
		p[len - 1] ^= 1;
		failed += expect(good[i].name, ", last bit flipped", p, len,
				 false);
		p[len - 1] ^= 1;
		p[len - 4] ^= 0x80;
		failed += expect(good[i].name, ", another bit flipped", p, len,
				 false);
		p[len - 4] ^= 0x80;
		failed += expect(good[i].name, ", cut short", p, len - 1,
				 false);
		if (p[0] >> 4 != 4)
			continue;
		p[8]--;
		failed += expect(good[i].name, ", TTL changed", p, len, false);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		len = unhex(bad[i].hex, p);
		failed += expect(bad[i].name, "", p, len, false);
	}
	return failed ? 1 : 0;
}

static int open_tap(const char *dev)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex(dev),
	};
	int fd, size = 256 << 20;

	if (!sll.sll_ifindex)
		err(1, "%s", dev);
	/* no protocol until the size is set and the device is chosen */
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		err(1, "socket");
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		err(1, "SO_RCVBUFFORCE");
	if (bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
		err(1, "bind to %s", dev);
	return fd;
}

static void drain(int fd, uint8_t *buf)
{
	struct sockaddr_ll from;
	socklen_t from_len;
	ssize_t len;

	for (;;) {
		from_len = sizeof(from);
		len = recvfrom(fd, buf, MAX_PKT, 0, (struct sockaddr *)&from,
			       &from_len);
		if (len < 0 && errno == EAGAIN)
			return;
		if (len < 0)
			err(1, "recvfrom");
		if (from.sll_protocol != htons(ETH_P_IP) &&
		    from.sll_protocol != htons(ETH_P_IPV6))
			continue;
		if (outgoing == (from.sll_pkttype == PACKET_OUTGOING))
			check_packet(buf, len);
	}
}

static void report(int fd)
{
	struct tpacket_stats st;
	socklen_t len = sizeof(st);
	int i;

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &st, &len))
		err(1, "PACKET_STATISTICS");
	for (i = 0; i < KINDS; i++)
		printf("%s=%lu ", kind_name[i], cnt.ok[i]);
	printf("bad=%lu none=%lu frag=%lu dirty=%lu lost=%u ", cnt.bad,
	       cnt.none, cnt.frag, cnt.dirty, st.tp_drops);
	printf("packets=%lu payload=%lu max=%u\n", cnt.packets, cnt.payload,
	       cnt.max);
}

static int capture(const char *dev)
{
	struct pollfd pfd[2] = { { .events = POLLIN }, { .events = POLLIN } };
	sigset_t stop;
	uint8_t *buf;

	buf = malloc(MAX_PKT);
	if (!buf)
		err(1, "malloc");
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	pfd[0].fd = signalfd(-1, &stop, 0);
	if (pfd[0].fd < 0)
		err(1, "signalfd");
	pfd[1].fd = open_tap(dev);
	puts("ready");
	fflush(stdout);
	while (!(pfd[0].revents & POLLIN)) {
		if (poll(pfd, lazy ? 1 : 2, -1) < 0)
			err(1, "poll");
		if (!lazy)
			drain(pfd[1].fd, buf);
	}
	drain(pfd[1].fd, buf);
	report(pfd[1].fd);
	free(buf);
	return 0;
}

static void usage(void)
{
	fprintf(stderr,
		"usage: pktcheck -s | [-o] [-l] [-v] [-f BYTE] DEVICE\n"
		"  -s  check the checker with good and bad packets\n"
		"  -o  look at outgoing packets: structure and payload only\n"
		"  -l  read nothing before the end, to hold on to the packets\n"
		"  -v  name each fault on stderr\n"
		"  -f  every TCP and UDP payload byte must be BYTE\n"
		"SIGTERM ends the capture and prints the counts.\n");
	exit(1);
}

int main(int argc, char **argv)
{
	int opt;

	crc32c_init();
	while ((opt = getopt(argc, argv, "solvf:")) != -1) {
		switch (opt) {
		case 's':
			return self_test();
		case 'o':
			outgoing = true;
			break;
		case 'l':
			lazy = true;
			break;
		case 'v':
			verbose = true;
			break;
		case 'f':
			fill = strtol(optarg, NULL, 0);
			break;
		default:
			usage();
		}
	}
	if (optind != argc - 1)
		usage();
	return capture(argv[optind]);
}
