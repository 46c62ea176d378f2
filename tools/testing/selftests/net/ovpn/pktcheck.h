/* SPDX-License-Identifier: GPL-2.0 */
/* Check the IP packets of a tunnel: header structure and every checksum, also
 * behind one GRE, VXLAN or IP-in-IP header.  What is found is counted in cnt.
 *
 * For programs of one file: functions and counters are static.
 */

#ifndef PKTCHECK_H
#define PKTCHECK_H

#include <linux/if_ether.h>
#include <linux/types.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

static __u32 crc_table[256];

static void crc32c_init(void)
{
	__u32 crc;
	int i, bit;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
		crc_table[i] = crc;
	}
}

static __u32 crc32c(__u32 crc, const __u8 *p, size_t len)
{
	while (len--)
		crc = crc_table[(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}

static __u32 get16(const __u8 *p)
{
	return p[0] << 8 | p[1];
}

static __u32 sum16(__u32 sum, const __u8 *p, size_t len)
{
	for (; len > 1; p += 2, len -= 2) {
		sum += get16(p);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	if (len)
		sum += *p << 8;
	return (sum & 0xffff) + (sum >> 16);
}

static bool sum_is_good(__u32 sum)
{
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/* what a transport checksum needs to know of the header before it */
struct pseudo {
	const __u8 *addrs;
	unsigned int addrs_len;
};

static __u32 pseudo_sum(const struct pseudo *ph, __u8 proto, size_t len)
{
	__u32 sum = sum16(0, ph->addrs, ph->addrs_len);

	sum += proto + (len >> 16) + (len & 0xffff);
	return (sum & 0xffff) + (sum >> 16);
}

static const char *check_ip(const __u8 *p, size_t len, int depth);

static const char *check_eth(const __u8 *p, size_t len, int depth)
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

static void check_payload(const __u8 *p, size_t len)
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

static const char *check_tcp(const __u8 *p, size_t len,
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

static const char *check_udp(const __u8 *p, size_t len,
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

static const char *check_sctp(const __u8 *p, size_t len)
{
	static const __u8 zero[4];
	__u32 crc;

	if (len < 12)
		return "short sctp";
	crc = crc32c(~0u, p, 8);
	crc = crc32c(crc, zero, 4);
	crc = ~crc32c(crc, p + 12, len - 12);
	/* least significant byte first */
	if (!outgoing && crc != ((__u32)p[11] << 24 | p[10] << 16 |
				 p[9] << 8 | p[8]))
		return "sctp crc";
	cnt.ok[SCTP]++;
	return NULL;
}

static const char *check_gre(const __u8 *p, size_t len, int depth)
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

static const char *check_transport(__u8 proto, const __u8 *p, size_t len,
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

static const char *check_ip4(const __u8 *p, size_t len, int depth)
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

static const char *check_ip6(const __u8 *p, size_t len, int depth)
{
	struct pseudo ph = { .addrs = p + 8, .addrs_len = 32 };
	size_t off = 40, plen;
	__u8 next;

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

static const char *check_ip(const __u8 *p, size_t len, int depth)
{
	if (len && p[0] >> 4 == 4)
		return check_ip4(p, len, depth);
	if (len && p[0] >> 4 == 6)
		return check_ip6(p, len, depth);
	return "neither IPv4 nor IPv6";
}

static void check_packet(const __u8 *p, size_t len)
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

#endif /* PKTCHECK_H */
