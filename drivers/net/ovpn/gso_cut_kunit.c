// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: KUnit tests of cutting a GSO packet
 *
 * The reference is skb_gso_segment() with skb_checksum_help(). What a packet is
 * cut into must not depend on how its bytes are spread over linear part, page
 * fragments and frag list.
 */

#include <kunit/test.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/gso.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "gso_cut.h"
#include "ovpn_kunit.h"

#define HEADROOM	64
#define GUARD		0xa5

enum cut_flag {
	CUT_FIN		= BIT(0),
	CUT_PSH		= BIT(1),
	CUT_CWR		= BIT(2),
	CUT_ECE		= BIT(3),
	CUT_URG		= BIT(4),
};

/**
 * struct cut_case - a GSO packet
 * @name: what is special about it
 * @type: GSO type
 * @ipv6: IPv6, where the type does not say so
 * @ip_options: bytes of IPv4 options
 * @tcp_options: bytes of TCP options, 12 are a time stamp
 * @flags: TCP flags
 * @mss: payload of a packet
 * @payload: payload of all packets
 */
struct cut_case {
	const char *name;
	unsigned int type;
	bool ipv6;
	unsigned int ip_options;
	unsigned int tcp_options;
	unsigned int flags;
	unsigned int mss;
	unsigned int payload;
};

/**
 * struct cut_packet - a GSO packet before it is put into an skb
 * @c: the case
 * @l3_len: length of the IP header
 * @hdr_len: length of both headers
 * @len: length of headers and payload
 * @data: headers and payload
 */
struct cut_packet {
	const struct cut_case *c;
	unsigned int l3_len;
	unsigned int hdr_len;
	unsigned int len;
	u8 *data;
};

/**
 * struct cut_layout - how a packet is spread over its skb
 * @linear: bytes in the linear part
 * @frags: bytes in the linear part and page fragments, the rest is a frag list
 */
struct cut_layout {
	unsigned int linear;
	unsigned int frags;
};

static bool cut_case_udp(const struct cut_case *c)
{
	return c->type & SKB_GSO_UDP_L4;
}

static bool cut_case_ipv6(const struct cut_case *c)
{
	return c->ipv6 || c->type & SKB_GSO_TCPV6;
}

static unsigned int cut_case_packets(const struct cut_case *c)
{
	return DIV_ROUND_UP(c->payload, c->mss);
}

/* the pseudo header's checksum, as the stack leaves it to the device */
static void cut_write_tcp(const struct cut_case *c, struct tcphdr *th)
{
	u8 *options = (u8 *)(th + 1);

	th->source = htons(1024);
	th->dest = htons(2048);
	/* wraps within the packet */
	th->seq = htonl(0xfffffffd);
	th->ack_seq = htonl(0x01020304);
	th->doff = (sizeof(*th) + c->tcp_options) / 4;
	th->ack = 1;
	th->fin = !!(c->flags & CUT_FIN);
	th->psh = !!(c->flags & CUT_PSH);
	th->cwr = !!(c->flags & CUT_CWR);
	th->ece = !!(c->flags & CUT_ECE);
	th->urg = !!(c->flags & CUT_URG);
	th->ae = !!(c->type & SKB_GSO_TCP_ACCECN);
	th->window = htons(501);
	th->urg_ptr = htons(c->flags & CUT_URG ? 3 : 0);
	memset(options, TCPOPT_NOP, c->tcp_options);
	if (c->tcp_options == TCPOLEN_TSTAMP_ALIGNED) {
		options[2] = TCPOPT_TIMESTAMP;
		options[3] = TCPOLEN_TIMESTAMP;
		memset(options + 4, 0x37, 8);
	}
}

static void cut_write(struct cut_packet *p)
{
	const struct cut_case *c = p->c;
	unsigned int l4_len = p->len - p->l3_len;
	u8 proto = cut_case_udp(c) ? IPPROTO_UDP : IPPROTO_TCP;
	struct tcphdr *th = (void *)(p->data + p->l3_len);
	struct udphdr *uh = (void *)(p->data + p->l3_len);
	__sum16 pseudo;
	int i;

	memset(p->data, 0, p->hdr_len);
	if (cut_case_ipv6(c)) {
		struct ipv6hdr *ip6h = (void *)p->data;

		ip6h->version = 6;
		ip6h->flow_lbl[1] = 0x42;
		ip6h->payload_len = htons(l4_len > U16_MAX ? 0 : l4_len);
		ip6h->nexthdr = proto;
		ip6h->hop_limit = 64;
		memset(&ip6h->saddr, 0xfd, sizeof(ip6h->saddr));
		memset(&ip6h->daddr, 0xfe, sizeof(ip6h->daddr));
		pseudo = ~csum_ipv6_magic(&ip6h->saddr, &ip6h->daddr, l4_len,
					  proto, 0);
	} else {
		struct iphdr *iph = (void *)p->data;

		iph->version = 4;
		iph->ihl = p->l3_len / 4;
		iph->tos = 2;
		iph->tot_len = htons(p->len > U16_MAX ? 0 : p->len);
		/* wraps within the packet */
		iph->id = htons(0xfffe);
		iph->frag_off = htons(IP_DF);
		iph->ttl = 64;
		iph->protocol = proto;
		iph->saddr = htonl(0x0a000001);
		iph->daddr = htonl(0x0a000002);
		memset(iph + 1, IPOPT_NOOP, c->ip_options);
		ip_send_check(iph);
		pseudo = ~csum_tcpudp_magic(iph->saddr, iph->daddr, l4_len,
					    proto, 0);
	}

	if (proto == IPPROTO_TCP) {
		cut_write_tcp(c, th);
		th->check = pseudo;
	} else {
		uh->source = htons(1024);
		uh->dest = htons(2048);
		uh->len = htons(l4_len);
		uh->check = pseudo;
	}

	for (i = 0; i < c->payload; i++)
		p->data[p->hdr_len + i] = i * 7 + (i >> 8) + 1;
}

static struct cut_packet *cut_packet_new(struct kunit *test,
					 const struct cut_case *c)
{
	struct cut_packet *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->c = c;
	p->l3_len = cut_case_ipv6(c) ? sizeof(struct ipv6hdr) :
				       sizeof(struct iphdr) + c->ip_options;
	p->hdr_len = p->l3_len + (cut_case_udp(c) ? sizeof(struct udphdr) :
				  sizeof(struct tcphdr) + c->tcp_options);
	p->len = p->hdr_len + c->payload;
	p->data = kunit_kmalloc(test, p->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p->data);
	cut_write(p);

	return p;
}

/* add page fragments of odd sizes at odd places */
static bool cut_add_frags(struct sk_buff *skb, const u8 *data, unsigned int len)
{
	unsigned int step = DIV_ROUND_UP(len, 4) | 1, size;
	struct page *page;
	int i;

	for (i = 0; len; i++) {
		size = min(len, step);
		page = alloc_pages(GFP_KERNEL | __GFP_COMP,
				   get_order(size + 3));
		if (!page)
			return false;
		memcpy(page_address(page) + 3, data, size);
		skb_add_rx_frag(skb, i, page, 3, size,
				PAGE_SIZE << get_order(size + 3));
		data += size;
		len -= size;
	}

	return true;
}

/* add a frag list of two: one is linear, the other is not */
static bool cut_add_list(struct sk_buff *skb, const u8 *data, unsigned int len)
{
	struct sk_buff **tail = &skb_shinfo(skb)->frag_list, *child;
	unsigned int half = len / 2;
	int i;

	for (i = 0; len; i++) {
		if (!i && !half)
			continue;
		child = alloc_skb(half, GFP_KERNEL);
		if (!child)
			return false;
		*tail = child;
		tail = &child->next;
		if (!i) {
			skb_put_data(child, data, half);
			data += half;
			len -= half;
		} else {
			if (!cut_add_frags(child, data, len))
				return false;
			len = 0;
		}
		skb->len += child->len;
		skb->data_len += child->len;
		skb->truesize += child->truesize;
	}

	return true;
}

static struct sk_buff *cut_skb_new(const struct cut_packet *p,
				   const struct cut_layout *layout)
{
	struct sk_buff *skb;

	skb = alloc_skb(HEADROOM + layout->linear, GFP_KERNEL);
	if (!skb)
		return NULL;

	skb_reserve(skb, HEADROOM);
	skb_put_data(skb, p->data, layout->linear);
	if (!cut_add_frags(skb, p->data + layout->linear,
			   layout->frags - layout->linear) ||
	    !cut_add_list(skb, p->data + layout->frags,
			  p->len - layout->frags)) {
		kfree_skb(skb);
		return NULL;
	}

	skb->protocol = htons(cut_case_ipv6(p->c) ? ETH_P_IPV6 : ETH_P_IP);
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, p->l3_len);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_headroom(skb) + p->l3_len;
	skb->csum_offset = cut_case_udp(p->c) ? offsetof(struct udphdr, check) :
						offsetof(struct tcphdr, check);
	skb_shinfo(skb)->gso_size = p->c->mss;
	skb_shinfo(skb)->gso_segs = cut_case_packets(p->c);
	skb_shinfo(skb)->gso_type = p->c->type;

	return skb;
}

/**
 * ovpn_kunit_gso_skb - make a GSO packet for a test
 * @test: the test, which fails if there is none
 * @mss: payload of a packet
 * @payload: payload of all packets
 *
 * Return: TCP over IPv4 in page fragments
 */
struct sk_buff *ovpn_kunit_gso_skb(struct kunit *test, unsigned int mss,
				   unsigned int payload)
{
	const struct cut_case c = {
		.type = SKB_GSO_TCPV4, .mss = mss, .payload = payload,
	};
	struct cut_packet *p = cut_packet_new(test, &c);
	const struct cut_layout layout = { p->hdr_len, p->len };
	struct sk_buff *skb = cut_skb_new(p, &layout);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	return skb;
}

/* what segmentation makes of a packet, one behind the other */
static u8 *cut_reference(struct kunit *test, const struct cut_packet *p)
{
	const struct cut_layout layout = { p->hdr_len, p->len };
	unsigned int packets = cut_case_packets(p->c), done = 0, i;
	struct sk_buff *skb, *segs, *seg, *next;
	u8 *ref;

	ref = kunit_kzalloc(test, packets * (p->hdr_len + p->c->mss),
			    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ref);
	skb = cut_skb_new(p, &layout);
	KUNIT_ASSERT_NOT_NULL(test, skb);

	segs = skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM);
	kfree_skb(skb);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, segs);

	i = 0;
	skb_list_walk_safe(segs, seg, next) {
		unsigned int len = min(p->c->mss, p->c->payload - i *
						  p->c->mss);

		if (seg->ip_summed != CHECKSUM_PARTIAL ||
		    skb_checksum_help(seg) || seg->len != p->hdr_len + len ||
		    skb_copy_bits(seg, 0, ref + done, seg->len)) {
			kfree_skb_list(seg);
			KUNIT_FAIL_AND_ABORT(test, "bad segment %u", i);
		}
		done += seg->len;
		i++;
		consume_skb(seg);
	}
	KUNIT_ASSERT_EQ(test, i, packets);

	return ref;
}

/* cut the packet in this layout and compare; say what is wrong */
static const char *cut_compare(const struct cut_packet *p,
			       const struct cut_layout *layout, const u8 *ref,
			       u8 *out)
{
	unsigned int i, len, packets = cut_case_packets(p->c);
	struct ovpn_gso_cut cut;
	const char *bad = NULL;
	struct sk_buff *skb;
	u8 *to;

	skb = cut_skb_new(p, layout);
	if (!skb)
		return "no memory";

	/* nothing of an earlier one may be needed */
	memset(&cut, GUARD, sizeof(cut));
	if (ovpn_gso_cut_start(&cut, skb) != OVPN_BATCHED) {
		bad = "refused";
		goto free;
	}
	if (cut.packets != packets || cut.hdr_len != p->hdr_len ||
	    cut.mss != p->c->mss || cut.left != p->c->payload) {
		bad = "wrong geometry";
		goto free;
	}

	for (i = 0; i < packets && !bad; i++) {
		to = out + i % 4;
		to[p->hdr_len + min(p->c->mss, cut.left)] = GUARD;
		len = ovpn_gso_cut_next(&cut, to);
		if (len > p->hdr_len + p->c->mss)
			bad = "too long";
		else if (memcmp(to, ref, p->hdr_len))
			bad = "wrong headers";
		else if (memcmp(to, ref, len))
			bad = "wrong payload";
		else if (to[len] != GUARD)
			bad = "wrote beyond the packet";
		ref += len;
	}
	if (!bad && cut.left)
		bad = "something is left";
	/* the GSO packet is somebody else's */
	if (!bad && (skb_copy_bits(skb, 0, out, skb->len) ||
		     memcmp(out, p->data, skb->len)))
		bad = "the GSO packet has changed";
free:
	kfree_skb(skb);
	return bad;
}

static void cut_expect(struct kunit *test, const struct cut_packet *p,
		       const struct cut_layout *layout, const u8 *ref, u8 *out)
{
	const char *bad = cut_compare(p, layout, ref, out);

	if (bad)
		KUNIT_FAIL_AND_ABORT(test, "%s: linear %u, frags to %u of %u",
				     bad, layout->linear, layout->frags,
				     p->len);
}

static u8 *cut_out(struct kunit *test, const struct cut_packet *p)
{
	u8 *out = kunit_kmalloc(test, p->len + 8, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, out);
	return out;
}

static const struct cut_case cut_small_cases[] = {
	{
		.name = "TCPv4, a byte each",
		.type = SKB_GSO_TCPV4, .mss = 1, .payload = 5,
	}, {
		.name = "TCPv4, time stamp, last shorter",
		.type = SKB_GSO_TCPV4, .tcp_options = 12,
		.flags = CUT_PSH, .mss = 7, .payload = 23,
	}, {
		.name = "TCPv4, all equal",
		.type = SKB_GSO_TCPV4, .flags = CUT_FIN | CUT_PSH | CUT_URG,
		.mss = 8, .payload = 24,
	}, {
		.name = "TCPv4, CWR once",
		.type = SKB_GSO_TCPV4 | SKB_GSO_TCP_ECN,
		.flags = CUT_CWR | CUT_ECE | CUT_FIN, .mss = 5, .payload = 14,
	}, {
		.name = "TCPv4, CWR kept",
		.type = SKB_GSO_TCPV4 | SKB_GSO_TCP_ACCECN,
		.flags = CUT_CWR | CUT_PSH, .mss = 5, .payload = 14,
	}, {
		.name = "TCPv4, same ID",
		.type = SKB_GSO_TCPV4 | SKB_GSO_TCP_FIXEDID,
		.mss = 5, .payload = 11,
	}, {
		.name = "TCPv4, from outside",
		.type = SKB_GSO_TCPV4 | SKB_GSO_DODGY,
		.mss = 5, .payload = 11,
	}, {
		.name = "TCPv4, all options",
		.type = SKB_GSO_TCPV4, .ip_options = 40, .tcp_options = 40,
		.flags = CUT_PSH, .mss = 3, .payload = 7,
	}, {
		.name = "TCPv6, a byte each",
		.type = SKB_GSO_TCPV6, .mss = 1, .payload = 5,
	}, {
		.name = "TCPv6, time stamp, last shorter",
		.type = SKB_GSO_TCPV6, .tcp_options = 12,
		.flags = CUT_PSH | CUT_FIN, .mss = 7, .payload = 23,
	}, {
		.name = "TCPv6, CWR once",
		.type = SKB_GSO_TCPV6 | SKB_GSO_TCP_ECN | SKB_GSO_DODGY,
		.flags = CUT_CWR | CUT_ECE, .mss = 4, .payload = 12,
	}, {
		.name = "TCPv6, CWR kept",
		.type = SKB_GSO_TCPV6 | SKB_GSO_TCP_ACCECN,
		.flags = CUT_CWR, .mss = 4, .payload = 13,
	}, {
		.name = "UDPv4",
		.type = SKB_GSO_UDP_L4, .mss = 5, .payload = 13,
	}, {
		.name = "UDPv4, options, all equal",
		.type = SKB_GSO_UDP_L4, .ip_options = 8,
		.mss = 6, .payload = 18,
	}, {
		.name = "UDPv4, from outside",
		.type = SKB_GSO_UDP_L4 | SKB_GSO_DODGY, .mss = 1, .payload = 3,
	}, {
		.name = "UDPv6",
		.type = SKB_GSO_UDP_L4, .ipv6 = true, .mss = 5, .payload = 13,
	},
};

KUNIT_ARRAY_PARAM_DESC(cut_small, cut_small_cases, name);

/* all ways to spread a small packet over an skb */
static void ovpn_gso_cut_every_split(struct kunit *test)
{
	const struct cut_case *c = test->param_value;
	struct cut_packet *p = cut_packet_new(test, c);
	const u8 *ref = cut_reference(test, p);
	u8 *out = cut_out(test, p);
	struct cut_layout layout;

	layout.linear = cut_case_ipv6(c) ? sizeof(struct ipv6hdr) :
					   sizeof(struct iphdr);
	for (; layout.linear <= p->len; layout.linear++) {
		layout.frags = layout.linear;
		for (; layout.frags <= p->len; layout.frags++)
			cut_expect(test, p, &layout, ref, out);
		cond_resched();
	}
}

static const struct cut_case cut_large_cases[] = {
	{
		.name = "TCPv4, 1348",
		.type = SKB_GSO_TCPV4, .tcp_options = 12, .flags = CUT_PSH,
		.mss = 1348, .payload = 48 * 1348,
	}, {
		.name = "TCPv4, 1348, last shorter",
		.type = SKB_GSO_TCPV4, .tcp_options = 12,
		.mss = 1348, .payload = 47 * 1348 + 1,
	}, {
		.name = "TCPv4, 536",
		.type = SKB_GSO_TCPV4, .flags = CUT_FIN,
		.mss = 536, .payload = 100 * 536 + 535,
	}, {
		.name = "TCPv4, odd",
		.type = SKB_GSO_TCPV4, .mss = 1447, .payload = 20 * 1447 + 77,
	}, {
		.name = "TCPv4, BIG TCP",
		.type = SKB_GSO_TCPV4, .tcp_options = 12, .flags = CUT_PSH,
		.mss = 1348, .payload = 120000,
	}, {
		.name = "TCPv6, 1348",
		.type = SKB_GSO_TCPV6, .tcp_options = 12,
		.mss = 1348, .payload = 65000,
	}, {
		.name = "TCPv6, BIG TCP",
		.type = SKB_GSO_TCPV6, .tcp_options = 12,
		.mss = 1348, .payload = 120001,
	}, {
		.name = "UDPv4, 1400",
		.type = SKB_GSO_UDP_L4, .mss = 1400, .payload = 64999,
	}, {
		.name = "UDPv6, odd",
		.type = SKB_GSO_UDP_L4, .ipv6 = true,
		.mss = 1351, .payload = 64999,
	},
};

KUNIT_ARRAY_PARAM_DESC(cut_large, cut_large_cases, name);

/* packets of everyday sizes, split where it could matter */
static void ovpn_gso_cut_sizes(struct kunit *test)
{
	const struct cut_case *c = test->param_value;
	struct cut_packet *p = cut_packet_new(test, c);
	const u8 *ref = cut_reference(test, p);
	u8 *out = cut_out(test, p);
	const unsigned int at[] = {
		cut_case_ipv6(c) ? sizeof(struct ipv6hdr) :
				   sizeof(struct iphdr),
		p->hdr_len - 1, p->hdr_len, p->hdr_len + 1,
		p->hdr_len + c->mss, p->hdr_len + 2 * c->mss + 1,
		p->len / 2 | 1, p->len - 1, p->len,
	};
	int i, j;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		for (j = i; j < ARRAY_SIZE(at); j++) {
			const struct cut_layout layout = { at[i], at[j] };

			cut_expect(test, p, &layout, ref, out);
		}
		cond_resched();
	}
}

static const struct cut_case cut_zero_cases[] = {
	{ "TCPv4", SKB_GSO_TCPV4, .mss = 10, .payload = 25 },
	{ "TCPv6", SKB_GSO_TCPV6, .mss = 10, .payload = 25 },
	{ "UDPv4", SKB_GSO_UDP_L4, .mss = 10, .payload = 25 },
	{ "UDPv6", SKB_GSO_UDP_L4, true, .mss = 10, .payload = 25 },
};

KUNIT_ARRAY_PARAM_DESC(cut_zero, cut_zero_cases, name);

/* packets whose checksum is zero, which means another thing to UDP */
static void ovpn_gso_cut_zero_csum(struct kunit *test)
{
	const struct cut_case *c = test->param_value;
	struct cut_packet *p = cut_packet_new(test, c);
	const struct cut_layout layout = { p->hdr_len, p->len };
	unsigned int check = p->l3_len;
	u8 *ref = cut_reference(test, p);
	unsigned int i, off = 0;
	__sum16 sum, word;

	check += cut_case_udp(c) ? offsetof(struct udphdr, check) :
				   offsetof(struct tcphdr, check);
	/* to the first word of each payload add what its sum lacks */
	for (i = 0; i < cut_case_packets(c); i++) {
		u8 *at = p->data + p->hdr_len + i * c->mss;

		memcpy(&sum, ref + off + check, sizeof(sum));
		memcpy(&word, at, sizeof(word));
		word = csum16_add(word, (__force __be16)sum);
		memcpy(at, &word, sizeof(word));
		off += p->hdr_len + min(c->mss, c->payload - i * c->mss);
	}

	ref = cut_reference(test, p);
	memcpy(&sum, ref + check, sizeof(sum));
	KUNIT_EXPECT_EQ(test, (__force u16)sum, 0xffff);
	cut_expect(test, p, &layout, ref, cut_out(test, p));
}

static void spoil_fraglist(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type |= SKB_GSO_FRAGLIST;
}

static void spoil_udp_tunnel(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL;
}

static void spoil_ufo(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type |= SKB_GSO_UDP;
}

static void spoil_no_type(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type = SKB_GSO_DODGY;
}

static void spoil_sctp(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type = SKB_GSO_SCTP;
}

static void spoil_sentinel(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_size = GSO_BY_FRAGS;
}

static void spoil_family(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type ^= SKB_GSO_TCPV4 | SKB_GSO_TCPV6;
}

static void spoil_gre(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type |= SKB_GSO_GRE;
}

static void spoil_encapsulation(struct sk_buff *skb)
{
	skb->encapsulation = 1;
}

/* four bytes in front of the IP header, which lacks its last four */
static void spoil_network_offset(struct sk_buff *skb)
{
	u8 *data = skb_push(skb, 4);

	memmove(data + 20, data + 24, skb->len - 24);
	skb_trim(skb, skb->len - 4);
	skb_set_network_header(skb, 4);
	skb_set_transport_header(skb, 20);
	skb->csum_start = skb_headroom(skb) + 20;
}

static void spoil_unreadable(struct sk_buff *skb)
{
	skb->unreadable = 1;
}

static void spoil_nexthdr(struct sk_buff *skb)
{
	ipv6_hdr(skb)->nexthdr = IPPROTO_DSTOPTS;
}

static void spoil_ihl(struct sk_buff *skb)
{
	/* the transport header follows, so that nothing else is wrong */
	ip_hdr(skb)->ihl = 4;
	memmove(skb->data + 16, skb->data + 20, skb->len - 20);
	skb_trim(skb, skb->len - 4);
	skb_set_transport_header(skb, 16);
	skb->csum_start = skb_headroom(skb) + 16;
}

static void spoil_protocol(struct sk_buff *skb)
{
	ip_hdr(skb)->protocol = IPPROTO_UDP;
}

static void spoil_first_fragment(struct sk_buff *skb)
{
	ip_hdr(skb)->frag_off = htons(IP_MF);
}

static void spoil_last_fragment(struct sk_buff *skb)
{
	ip_hdr(skb)->frag_off = htons(8);
}

static void spoil_csum_none(struct sk_buff *skb)
{
	skb->ip_summed = CHECKSUM_NONE;
}

static void spoil_csum_complete(struct sk_buff *skb)
{
	skb->ip_summed = CHECKSUM_COMPLETE;
}

static void spoil_transport_offset(struct sk_buff *skb)
{
	skb_set_transport_header(skb, skb_transport_offset(skb) + 4);
}

static void spoil_csum_start(struct sk_buff *skb)
{
	skb->csum_start += 2;
}

static void spoil_csum_offset(struct sk_buff *skb)
{
	skb->csum_offset += 2;
}

static void spoil_truncate(struct sk_buff *skb)
{
	skb_trim(skb, skb_transport_offset(skb) + 6);
}

static void spoil_doff_short(struct sk_buff *skb)
{
	tcp_hdr(skb)->doff = 4;
}

static void spoil_doff_long(struct sk_buff *skb)
{
	tcp_hdr(skb)->doff = 15;
}

static void spoil_no_mss(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_size = 0;
}

static void spoil_one_packet(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_size = 13;
}

enum cut_proto { TCPV4, TCPV6, UDPV4, UDPV6 };

static const struct cut_case cut_protos[] = {
	[TCPV4] = { .type = SKB_GSO_TCPV4, .mss = 5, .payload = 13 },
	[TCPV6] = { .type = SKB_GSO_TCPV6, .mss = 5, .payload = 13 },
	[UDPV4] = { .type = SKB_GSO_UDP_L4, .mss = 5, .payload = 13 },
	[UDPV6] = { .type = SKB_GSO_UDP_L4, .ipv6 = true, .mss = 5,
		    .payload = 13 },
};

struct cut_spoil {
	const char *name;
	enum cut_proto proto;
	void (*spoil)(struct sk_buff *skb);
	enum ovpn_batch_stat reason;
};

#define SPOIL(PROTO, SPOIL_NAME)					\
	{ #PROTO " " #SPOIL_NAME, PROTO, spoil_ ## SPOIL_NAME,		\
	  OVPN_TX_UNBATCHED_TYPE }

static const struct cut_spoil cut_spoils[] = {
	{ "TCPV4", TCPV4, NULL, OVPN_BATCHED },
	{ "TCPV6", TCPV6, NULL, OVPN_BATCHED },
	{ "UDPV4", UDPV4, NULL, OVPN_BATCHED },
	{ "UDPV6", UDPV6, NULL, OVPN_BATCHED },
	{ "TCPV4 fraglist", TCPV4, spoil_fraglist, OVPN_TX_UNBATCHED_FRAGLIST },
	{ "UDPV6 fraglist", UDPV6, spoil_fraglist, OVPN_TX_UNBATCHED_FRAGLIST },
	SPOIL(UDPV4, udp_tunnel),
	SPOIL(UDPV4, ufo),
	SPOIL(TCPV4, no_type),
	SPOIL(TCPV4, sctp),
	SPOIL(TCPV4, family),
	SPOIL(TCPV6, family),
	SPOIL(TCPV4, gre),
	SPOIL(TCPV4, encapsulation),
	SPOIL(TCPV4, network_offset),
	SPOIL(TCPV4, unreadable),
	SPOIL(TCPV6, nexthdr),
	SPOIL(UDPV6, nexthdr),
	SPOIL(TCPV4, ihl),
	SPOIL(TCPV4, protocol),
	SPOIL(TCPV4, first_fragment),
	SPOIL(TCPV4, last_fragment),
	SPOIL(TCPV4, csum_none),
	SPOIL(UDPV4, csum_complete),
	SPOIL(UDPV4, transport_offset),
	SPOIL(UDPV4, csum_start),
	SPOIL(TCPV4, csum_offset),
	SPOIL(TCPV4, truncate),
	SPOIL(UDPV4, truncate),
	SPOIL(TCPV4, doff_short),
	SPOIL(TCPV4, doff_long),
	SPOIL(TCPV4, no_mss),
	SPOIL(TCPV4, sentinel),
	SPOIL(TCPV4, one_packet),
	SPOIL(UDPV4, one_packet),
};

KUNIT_ARRAY_PARAM_DESC(cut_spoil, cut_spoils, name);

/* what is not cut, each for one reason alone */
static void ovpn_gso_cut_refusals(struct kunit *test)
{
	const struct cut_spoil *s = test->param_value;
	struct cut_packet *p = cut_packet_new(test, &cut_protos[s->proto]);
	const struct cut_layout layout = { p->len, p->len };
	struct ovpn_gso_cut cut;
	enum ovpn_batch_stat reason;
	struct sk_buff *skb;

	skb = cut_skb_new(p, &layout);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	if (s->spoil)
		s->spoil(skb);
	reason = ovpn_gso_cut_start(&cut, skb);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, reason, s->reason);
}

static const struct cut_case cut_fit_cases[] = {
	{
		.name = "TCPv4, time stamp, last shorter",
		.type = SKB_GSO_TCPV4, .tcp_options = 12,
		.flags = CUT_PSH | CUT_FIN, .mss = 1448, .payload = 4000,
	}, {
		.name = "TCPv4, CWR once, same ID",
		.type = SKB_GSO_TCPV4 | SKB_GSO_TCP_ECN | SKB_GSO_TCP_FIXEDID,
		.flags = CUT_CWR, .mss = 1400, .payload = 2800,
	}, {
		.name = "TCPv6",
		.type = SKB_GSO_TCPV6, .flags = CUT_PSH,
		.mss = 1440, .payload = 1441,
	},
};

KUNIT_ARRAY_PARAM_DESC(cut_fit, cut_fit_cases, name);

/* smaller packets are those of a GSO packet that had asked for them */
static void ovpn_gso_cut_fit_smaller(struct kunit *test)
{
	static const unsigned int sizes[] = { TCP_MSS_DEFAULT, 1000, 1380 };
	const struct cut_case *c = test->param_value;
	struct cut_packet *p = cut_packet_new(test, c), *small;
	const struct cut_layout layout = { p->hdr_len, p->len };
	struct ovpn_gso_cut cut;
	struct cut_case fitted;
	struct sk_buff *skb;
	unsigned int i, n;
	u8 *out, *ref;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fitted = *c;
		fitted.mss = sizes[i];
		small = cut_packet_new(test, &fitted);
		ref = cut_reference(test, small);
		out = cut_out(test, p);
		skb = cut_skb_new(p, &layout);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		KUNIT_EXPECT_EQ(test, ovpn_gso_cut_start(&cut, skb),
				OVPN_BATCHED);
		KUNIT_EXPECT_TRUE(test, ovpn_gso_cut_fit(&cut, p->hdr_len +
							       sizes[i]));
		KUNIT_EXPECT_EQ(test, cut.packets, cut_case_packets(&fitted));
		for (n = 0; n < cut.packets && cut.left; n++) {
			unsigned int len = ovpn_gso_cut_next(&cut, out);

			KUNIT_EXPECT_MEMEQ(test, out, ref, len);
			ref += len;
		}
		KUNIT_EXPECT_EQ(test, n, cut_case_packets(&fitted));
		KUNIT_EXPECT_EQ(test, cut.left, 0);
		kfree_skb(skb);
	}
}

/* what keeps its size: less than TCP must be able to take, UDP, no DF flag */
static void ovpn_gso_cut_fit_refusals(struct kunit *test)
{
	static const struct {
		const char *what;
		struct cut_case c;
		unsigned int payload;
		bool may_fragment;
	} fits[] = {
		{ "TCPv4 too small", { .type = SKB_GSO_TCPV4 },
		  TCP_MSS_DEFAULT - 1 },
		{ "TCPv6 too small", { .type = SKB_GSO_TCPV6 },
		  TCP_MSS_DEFAULT - 1 },
		{ "TCPv4 without DF", { .type = SKB_GSO_TCPV4 }, 1000, true },
		{ "UDP", { .type = SKB_GSO_UDP_L4 }, 1000 },
		{ "UDPv6", { .type = SKB_GSO_UDP_L4, .ipv6 = true }, 1000 },
	};
	struct ovpn_gso_cut cut;
	struct cut_layout layout;
	struct cut_packet *p;
	struct cut_case c;
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fits); i++) {
		c = fits[i].c;
		c.mss = 1400;
		c.payload = 4000;
		p = cut_packet_new(test, &c);
		layout = (struct cut_layout){ p->hdr_len, p->len };
		skb = cut_skb_new(p, &layout);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		if (fits[i].may_fragment)
			ip_hdr(skb)->frag_off = 0;
		KUNIT_EXPECT_EQ(test, ovpn_gso_cut_start(&cut, skb),
				OVPN_BATCHED);
		KUNIT_EXPECT_FALSE_MSG(test,
				       ovpn_gso_cut_fit(&cut, p->hdr_len +
							      fits[i].payload),
				       "%s", fits[i].what);
		KUNIT_EXPECT_EQ(test, cut.mss, 1400);
		KUNIT_EXPECT_EQ(test, cut.packets, 3);
		kfree_skb(skb);
	}
}

static struct kunit_case ovpn_gso_cut_cases[] = {
	KUNIT_CASE_PARAM(ovpn_gso_cut_every_split, cut_small_gen_params),
	KUNIT_CASE_PARAM(ovpn_gso_cut_sizes, cut_large_gen_params),
	KUNIT_CASE_PARAM(ovpn_gso_cut_zero_csum, cut_zero_gen_params),
	KUNIT_CASE_PARAM(ovpn_gso_cut_refusals, cut_spoil_gen_params),
	KUNIT_CASE_PARAM(ovpn_gso_cut_fit_smaller, cut_fit_gen_params),
	KUNIT_CASE(ovpn_gso_cut_fit_refusals),
	{}
};

static struct kunit_suite ovpn_gso_cut_suite = {
	.name = "ovpn_gso_cut",
	.test_cases = ovpn_gso_cut_cases,
};

kunit_test_suite(ovpn_gso_cut_suite);
