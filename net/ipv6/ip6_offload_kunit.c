// SPDX-License-Identifier: GPL-2.0-only
/* GRO of IPv6: KUnit tests of ipv6_gro_receive() and ipv6_gro_complete()
 *
 * A case is a list of headers.  Packets made of them go through GRO as those
 * of a driver do; what comes out is compared, byte by byte, with the same list
 * of headers put around the whole payload, and every field of the skb that
 * tells where a header is with where it was put.
 */

#include <kunit/test.h>

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/gre.h>
#include <net/gro.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/udp_tunnel.h>

#define GRO_TEST_PACKETS	3
#define GRO_TEST_LAYERS		12
#define GRO_TEST_HEADERS	1024
#define GRO_TEST_TUNNEL_PORT	47001

enum gro_test_layer {
	END,
	IP4,
	IP6,
	/* extension headers; DST_LONG does not fit into what is linear */
	HBH,
	RT,
	DST,
	DST_LONG,
	FRAG,
	NONE,
	/* a protocol that nobody knows */
	OTHER,
	/* tunnels; UDPT has a header of 8 bytes and Ethernet in it */
	GRE,
	UDPT,
	ETH,
	VLAN,
	TCP,
	UDP,
};

enum gro_test_spoil {
	SPOIL_NOTHING,
	/* the payload of the first IPv6 header is a byte longer or shorter */
	SPOIL_LONG,
	SPOIL_SHORT,
	/* the last extension header says that it is 2048 bytes long */
	SPOIL_EXT_LEN,
	/* no packet goes on after the first 4 bytes of that header */
	SPOIL_EXT_CUT,
	/* each packet has another value in the last extension header */
	SPOIL_EXT_DIFF,
};

struct gro_test_case {
	const char *name;
	u8 layers[GRO_TEST_LAYERS];
	/* of a packet, 0: 500 bytes */
	unsigned int payload;
	u32 gso_type;
	enum gro_test_spoil spoil;
	bool unmerged;
	/* the tunnel's socket appears when the packets are held already */
	bool late;
};

/**
 * struct gro_test_packet - where the headers of a packet are
 * @data: its bytes, the first header is the first of them
 * @offset: of each header in @data
 * @headers: length of all headers
 * @len: length of @data
 * @ip: index of the innermost IP header
 * @ext: index of the last extension header, or -1
 */
struct gro_test_packet {
	u8 *data;
	unsigned int offset[GRO_TEST_LAYERS];
	unsigned int headers;
	unsigned int len;
	int ip;
	int ext;
};

/**
 * struct gro_test - what a case runs on
 * @dev: device of the packets
 * @napi: its NAPI
 * @sock: socket of the UDP tunnel, or NULL
 */
struct gro_test {
	struct net_device *dev;
	struct napi_struct napi;
	struct socket *sock;
};

static const struct gro_test_case gro_test_cases[] = {
	{
		.name = "TCP",
		.layers = { IP6, TCP },
		.gso_type = SKB_GSO_TCPV6,
	}, {
		.name = "UDP",
		.layers = { IP6, UDP },
		.gso_type = SKB_GSO_UDP_L4,
	}, {
		.name = "one header, TCP",
		.layers = { IP6, DST, TCP },
		.gso_type = SKB_GSO_TCPV6,
	}, {
		.name = "one header, UDP",
		.layers = { IP6, HBH, UDP },
		.gso_type = SKB_GSO_UDP_L4,
	}, {
		.name = "routing header",
		.layers = { IP6, RT, TCP },
		.gso_type = SKB_GSO_TCPV6,
	}, {
		.name = "four headers, TCP",
		.layers = { IP6, HBH, DST, RT, DST, TCP },
		.gso_type = SKB_GSO_TCPV6,
	}, {
		.name = "four headers, UDP",
		.layers = { IP6, HBH, DST, RT, DST, UDP },
		.gso_type = SKB_GSO_UDP_L4,
	}, {
		.name = "a long header",
		.layers = { IP6, DST_LONG, DST, TCP },
		.gso_type = SKB_GSO_TCPV6,
	}, {
		.name = "sit",
		.layers = { IP4, IP6, TCP },
		.gso_type = SKB_GSO_IPXIP4 | SKB_GSO_TCPV6,
	}, {
		.name = "sit, headers inside",
		.layers = { IP4, IP6, HBH, DST, UDP },
		.gso_type = SKB_GSO_IPXIP4 | SKB_GSO_UDP_L4,
	}, {
		.name = "ip6ip6",
		.layers = { IP6, IP6, TCP },
		.gso_type = SKB_GSO_IPXIP6 | SKB_GSO_TCPV6,
	}, {
		.name = "ip6ip6, headers outside",
		.layers = { IP6, DST, RT, IP6, TCP },
		.gso_type = SKB_GSO_IPXIP6 | SKB_GSO_TCPV6,
	}, {
		.name = "ip6ip6, headers inside",
		.layers = { IP6, IP6, HBH, DST, RT, UDP },
		.gso_type = SKB_GSO_IPXIP6 | SKB_GSO_UDP_L4,
	}, {
		.name = "ip6ip6, headers outside and inside",
		.layers = { IP6, DST, IP6, HBH, DST, RT, TCP },
		.gso_type = SKB_GSO_IPXIP6 | SKB_GSO_TCPV6,
	}, {
		.name = "ip4ip6",
		.layers = { IP6, IP4, TCP },
		.gso_type = SKB_GSO_IPXIP6 | SKB_GSO_TCPV4,
	}, {
		.name = "ip4ip6, headers outside",
		.layers = { IP6, DST, DST, IP4, UDP },
		.gso_type = SKB_GSO_IPXIP6 | SKB_GSO_UDP_L4,
	}, {
		.name = "GRE",
		.layers = { IP6, DST, GRE, IP6, HBH, TCP },
		.gso_type = SKB_GSO_GRE | SKB_GSO_TCPV6,
	}, {
		.name = "GRE, Ethernet and VLAN inside",
		.layers = { IP6, GRE, ETH, VLAN, IP6, DST, DST, TCP },
		.gso_type = SKB_GSO_GRE | SKB_GSO_TCPV6,
	}, {
		.name = "UDP tunnel",
		.layers = { IP6, UDPT, ETH, IP6, TCP },
		.gso_type = SKB_GSO_UDP_TUNNEL_CSUM | SKB_GSO_TCPV6,
	}, {
		.name = "UDP tunnel, headers outside",
		.layers = { IP6, HBH, DST, UDPT, ETH, IP6, UDP },
		.gso_type = SKB_GSO_UDP_TUNNEL_CSUM | SKB_GSO_UDP_L4,
	}, {
		.name = "UDP tunnel, headers outside and inside",
		.layers = { IP6, DST, UDPT, ETH, IP6, HBH, RT, DST, TCP },
		.gso_type = SKB_GSO_UDP_TUNNEL_CSUM | SKB_GSO_TCPV6,
	}, {
		.name = "UDP tunnel, IPv4 inside",
		.layers = { IP6, DST, UDPT, ETH, IP4, TCP },
		.gso_type = SKB_GSO_UDP_TUNNEL_CSUM | SKB_GSO_TCPV4,
	}, {
		.name = "BIG TCP",
		.layers = { IP6, TCP },
		.payload = 30000,
		.gso_type = SKB_GSO_TCPV6,
	}, {
		.name = "BIG TCP, four headers",
		.layers = { IP6, HBH, DST, RT, DST, TCP },
		.payload = 30000,
		.gso_type = SKB_GSO_TCPV6,
	}, {
		.name = "BIG TCP, ip6ip6",
		.layers = { IP6, DST, IP6, HBH, DST, TCP },
		.payload = 30000,
		.gso_type = SKB_GSO_IPXIP6 | SKB_GSO_TCPV6,
	}, {
		.name = "payload length beyond the packet",
		.layers = { IP6, DST, TCP },
		.spoil = SPOIL_LONG, .unmerged = true,
	}, {
		.name = "payload length short of the packet",
		.layers = { IP6, DST, TCP },
		.spoil = SPOIL_SHORT, .unmerged = true,
	}, {
		.name = "header longer than the packet",
		.layers = { IP6, HBH, DST, TCP },
		.spoil = SPOIL_EXT_LEN, .unmerged = true,
	}, {
		.name = "inner header longer than the packet",
		.layers = { IP6, DST, IP6, HBH, DST, TCP },
		.spoil = SPOIL_EXT_LEN, .unmerged = true,
	}, {
		.name = "cut in a header",
		.layers = { IP6, HBH, DST, TCP },
		.spoil = SPOIL_EXT_CUT, .unmerged = true,
	}, {
		.name = "headers that differ",
		.layers = { IP6, HBH, DST, TCP },
		.spoil = SPOIL_EXT_DIFF, .unmerged = true,
	}, {
		.name = "inner headers that differ",
		.layers = { IP6, DST, IP6, HBH, DST, TCP },
		.spoil = SPOIL_EXT_DIFF, .unmerged = true,
	}, {
		.name = "unknown next header",
		.layers = { IP6, OTHER },
		.unmerged = true,
	}, {
		.name = "unknown next header after others",
		.layers = { IP6, HBH, DST, OTHER },
		.unmerged = true,
	}, {
		.name = "unknown next header inside",
		.layers = { IP6, DST, IP6, DST, OTHER },
		.unmerged = true,
	}, {
		.name = "no next header",
		.layers = { IP6, DST, NONE },
		.unmerged = true,
	}, {
		.name = "fragment header",
		.layers = { IP6, DST, FRAG, TCP },
		.unmerged = true,
	}, {
		.name = "a tunnel too many",
		.layers = { IP6, IP6, IP6, TCP },
		.unmerged = true,
	}, {
		.name = "UDP tunnel that comes late",
		.layers = { IP6, DST, UDPT, ETH, IP6, TCP },
		.late = true,
	},
};

static unsigned int gro_test_layer_len(u8 layer)
{
	switch (layer) {
	case IP4:
		return sizeof(struct iphdr);
	case IP6:
		return sizeof(struct ipv6hdr);
	case HBH:
	case RT:
	case FRAG:
		return 8;
	case DST:
		return 16;
	case DST_LONG:
		return 264;
	case GRE:
		return GRE_HEADER_SECTION;
	case UDPT:
		return sizeof(struct udphdr) + 8;
	case ETH:
		return ETH_HLEN;
	case VLAN:
		return VLAN_HLEN;
	case TCP:
		return sizeof(struct tcphdr) + 12;
	case UDP:
		return sizeof(struct udphdr);
	default:
		return 0;
	}
}

static u8 gro_test_layer_proto(u8 layer)
{
	switch (layer) {
	case IP4:
		return IPPROTO_IPIP;
	case IP6:
		return IPPROTO_IPV6;
	case HBH:
		return IPPROTO_HOPOPTS;
	case RT:
		return IPPROTO_ROUTING;
	case DST:
	case DST_LONG:
		return IPPROTO_DSTOPTS;
	case FRAG:
		return IPPROTO_FRAGMENT;
	case NONE:
		return IPPROTO_NONE;
	case GRE:
		return IPPROTO_GRE;
	case UDPT:
	case UDP:
		return IPPROTO_UDP;
	case TCP:
		return IPPROTO_TCP;
	default:
		return 253;
	}
}

static __be16 gro_test_layer_type(u8 layer)
{
	switch (layer) {
	case IP4:
		return htons(ETH_P_IP);
	case IP6:
		return htons(ETH_P_IPV6);
	case VLAN:
		return htons(ETH_P_8021Q);
	default:
		return htons(ETH_P_TEB);
	}
}

static bool gro_test_is_ext(u8 layer)
{
	return layer >= HBH && layer <= FRAG;
}

/* the checksum over addresses, length and protocol alone, as GRO leaves it */
static __sum16 gro_test_pseudo(const void *ip, unsigned int len, u8 proto)
{
	const struct ipv6hdr *ip6 = ip;
	const struct iphdr *ip4 = ip;

	if (ip6->version == 6)
		return ~csum_ipv6_magic(&ip6->saddr, &ip6->daddr, len, proto,
					0);
	return ~csum_tcpudp_magic(ip4->saddr, ip4->daddr, len, proto, 0);
}

static u8 gro_test_byte(unsigned int i)
{
	return i * 7 + (i >> 8);
}

/* packet @first of the stream, or @count of them in one */
static void gro_test_build(struct kunit *test, const struct gro_test_case *c,
			   unsigned int first, unsigned int count,
			   struct gro_test_packet *packet)
{
	unsigned int payload = c->payload ?: 500;
	unsigned int off = 0, i, len;
	void *ip = NULL;

	packet->ip = -1;
	packet->ext = -1;
	for (i = 0; c->layers[i]; i++) {
		packet->offset[i] = off;
		off += gro_test_layer_len(c->layers[i]);
		if (gro_test_is_ext(c->layers[i]))
			packet->ext = i;
		if (c->layers[i] == IP4 || c->layers[i] == IP6)
			packet->ip = i;
	}
	KUNIT_ASSERT_LE(test, off, GRO_TEST_HEADERS);
	packet->headers = off;
	packet->len = off + payload * count;
	packet->data = kunit_kzalloc(test, packet->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, packet->data);

	for (i = 0; c->layers[i]; i++) {
		u8 *h = packet->data + packet->offset[i];
		u8 next = c->layers[i + 1];

		/* what there is from this header on */
		len = packet->len - packet->offset[i];
		switch (c->layers[i]) {
		case IP4: {
			struct iphdr *ip4 = (void *)h;

			ip = h;
			ip4->version = 4;
			ip4->ihl = 5;
			ip4->ttl = 64;
			ip4->tot_len = htons(len);
			ip4->id = htons(100 + first);
			ip4->protocol = gro_test_layer_proto(next);
			ip4->saddr = htonl(0x0a000001 + i);
			ip4->daddr = htonl(0x0a000101 + i);
			ip4->check = ip_fast_csum(h, 5);
			break;
		}
		case IP6: {
			struct ipv6hdr *ip6 = (void *)h;

			ip = h;
			ip6->version = 6;
			ip6->flow_lbl[2] = i;
			ip6->hop_limit = 64 - i;
			len -= sizeof(*ip6);
			if (len <= IPV6_MAXPLEN)
				ip6->payload_len = htons(len);
			ip6->nexthdr = gro_test_layer_proto(next);
			ip6->saddr.s6_addr[0] = 0xfd;
			ip6->saddr.s6_addr[15] = 1 + i;
			ip6->daddr.s6_addr[0] = 0xfd;
			ip6->daddr.s6_addr[15] = 101 + i;
			break;
		}
		case HBH:
		case RT:
		case DST:
		case DST_LONG:
		case FRAG:
			h[0] = gro_test_layer_proto(next);
			len = gro_test_layer_len(c->layers[i]);
			if (c->layers[i] != FRAG)
				h[1] = len / 8 - 1;
			/* a type that is unknown; nobody looks at it */
			h[2] = 0x1e;
			h[3] = min(len - 4, 255);
			memset(h + 4, 0x50 + i, len - 4);
			break;
		case GRE: {
			struct gre_base_hdr *greh = (void *)h;

			greh->protocol = gro_test_layer_type(next);
			break;
		}
		case UDPT:
		case UDP: {
			struct udphdr *uh = (void *)h;

			uh->source = htons(1000);
			uh->dest = htons(c->layers[i] == UDP ? 2000 :
					 GRO_TEST_TUNNEL_PORT);
			/* as long as it was cast to 16 bits */
			uh->len = htons(len);
			uh->check = htons(0x1234);
			if (count > 1)
				uh->check = gro_test_pseudo(ip, len,
							    IPPROTO_UDP);
			break;
		}
		case ETH:
			memset(h, 0x02, 2 * ETH_ALEN);
			*(__be16 *)(h + 2 * ETH_ALEN) =
				gro_test_layer_type(next);
			break;
		case VLAN:
			*(__be16 *)h = htons(5);
			*(__be16 *)(h + 2) = gro_test_layer_type(next);
			break;
		case TCP: {
			struct tcphdr *th = (void *)h;

			th->source = htons(1000);
			th->dest = htons(2000);
			th->seq = htonl(0x80000000 + first * payload);
			th->ack_seq = htonl(5);
			th->doff = (sizeof(*th) + 12) / 4;
			th->ack = 1;
			th->window = htons(100);
			th->check = htons(0x1234);
			if (count > 1)
				th->check = gro_test_pseudo(ip, len,
							    IPPROTO_TCP);
			memset(th + 1, 1, 12);
			break;
		}
		}
	}
	for (i = 0; i < payload * count; i++)
		packet->data[off + i] = gro_test_byte(first * payload + i);
}

static void gro_test_spoil(const struct gro_test_case *c, unsigned int n,
			   struct gro_test_packet *packet)
{
	struct ipv6hdr *ip6 = (void *)packet->data;
	u8 *ext = packet->data + packet->offset[max(packet->ext, 0)];

	switch (c->spoil) {
	case SPOIL_LONG:
		be16_add_cpu(&ip6->payload_len, 1);
		break;
	case SPOIL_SHORT:
		be16_add_cpu(&ip6->payload_len, -1);
		break;
	case SPOIL_EXT_LEN:
		ext[1] = 255;
		break;
	case SPOIL_EXT_CUT:
		packet->len = packet->offset[packet->ext] + 4;
		ip6->payload_len = htons(packet->len - sizeof(*ip6));
		break;
	case SPOIL_EXT_DIFF:
		ext[5] = n;
		break;
	default:
		break;
	}
}

/* an skb as a driver gives it: all of it linear, or all of it in pages */
static struct sk_buff *gro_test_skb(struct kunit *test, struct gro_test *t,
				    const struct gro_test_packet *packet,
				    bool paged)
{
	unsigned int order = get_order(packet->len);
	struct sk_buff *skb;
	struct page *page;

	skb = alloc_skb(ETH_HLEN + (paged ? 256 : packet->len), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb->dev = t->dev;
	skb_put_zero(skb, ETH_HLEN);
	skb_reset_mac_header(skb);
	__skb_pull(skb, ETH_HLEN);
	/* two checksums have been seen to be right */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = 1;
	skb->protocol = packet->data[0] >> 4 == 6 ? htons(ETH_P_IPV6) :
						    htons(ETH_P_IP);
	/* nothing that was here before may be taken for something learned */
	memset(skb->cb, 0xa5, sizeof(skb->cb));
	if (!paged) {
		skb_put_data(skb, packet->data, packet->len);
		return skb;
	}
	page = alloc_pages(GFP_KERNEL | __GFP_COMP, order);
	if (!page)
		kfree_skb(skb);
	KUNIT_ASSERT_NOT_NULL(test, page);
	memcpy(page_address(page), packet->data, packet->len);
	skb_add_rx_frag(skb, 0, page, 0, packet->len, PAGE_SIZE << order);
	return skb;
}

static struct sk_buff *gro_test_tunnel_receive(struct sock *sk,
					       struct list_head *head,
					       struct sk_buff *skb)
{
	skb_gro_pull(skb, 8);
	return call_gro_receive(eth_gro_receive, head, skb);
}

static int gro_test_tunnel_complete(struct sock *sk, struct sk_buff *skb,
				    int nhoff)
{
	return eth_gro_complete(skb, nhoff + 8);
}

static void gro_test_tunnel_up(struct kunit *test, struct gro_test *t)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.encap_type = 1,
		.gro_receive = gro_test_tunnel_receive,
		.gro_complete = gro_test_tunnel_complete,
	};
	struct udp_port_cfg port = {
		.family = AF_INET6,
		.local_udp_port = htons(GRO_TEST_TUNNEL_PORT),
		.use_udp6_rx_checksums = true,
		.ipv6_v6only = true,
	};
	int err;

	err = udp_sock_create(&init_net, &port, &t->sock);
	KUNIT_ASSERT_EQ(test, err, 0);
	setup_udp_tunnel_sock(&init_net, t->sock->sk, &tunnel);
}

static bool gro_test_has(const struct gro_test_case *c, u8 layer)
{
	return memchr(c->layers, layer, GRO_TEST_LAYERS);
}

static void gro_test_compare(struct kunit *test, struct sk_buff *skb,
			     const struct gro_test_packet *want)
{
	u8 *data = kunit_kzalloc(test, want->len, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, data);
	KUNIT_ASSERT_EQ(test, skb->len, want->len);
	KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, 0, data, want->len), 0);
	KUNIT_EXPECT_MEMEQ(test, data, want->data,
			   min(want->len, want->headers));
	for (i = want->headers; i < want->len; i++) {
		if (data[i] != want->data[i])
			break;
	}
	KUNIT_EXPECT_GE(test, i, want->len);
}

/* what is told about the headers of an aggregate */
static void gro_test_fields(struct kunit *test, const struct gro_test_case *c,
			    struct sk_buff *skb,
			    const struct gro_test_packet *want)
{
	bool encap = memchr(c->layers + 1, IP6, GRO_TEST_LAYERS - 1) ||
		     memchr(c->layers + 1, IP4, GRO_TEST_LAYERS - 1);
	unsigned int last = strlen((const char *)c->layers) - 1;
	int l4 = want->offset[last];
	int mac;

	KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_type, c->gso_type);
	KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_size, c->payload ?: 500);
	KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_segs, GRO_TEST_PACKETS);
	KUNIT_EXPECT_EQ(test, (int)skb->ip_summed, CHECKSUM_PARTIAL);
	KUNIT_EXPECT_EQ(test, skb_checksum_start_offset(skb), l4);
	KUNIT_EXPECT_EQ(test, skb->csum_offset, c->layers[last] == TCP ?
			offsetof(struct tcphdr, check) :
			offsetof(struct udphdr, check));
	KUNIT_EXPECT_EQ(test, skb_network_offset(skb), 0);
	KUNIT_EXPECT_EQ(test, skb_transport_offset(skb), l4);
	KUNIT_EXPECT_EQ(test, (bool)skb->encapsulation, encap);
	if (!encap)
		return;
	KUNIT_EXPECT_EQ(test, skb_inner_network_offset(skb),
			want->offset[want->ip]);
	KUNIT_EXPECT_EQ(test, skb_inner_transport_offset(skb), l4);
	KUNIT_EXPECT_EQ(test, ntohs(skb->inner_protocol),
			c->layers[want->ip] == IP6 ? ETH_P_IPV6 : ETH_P_IP);
	if (!gro_test_has(c, GRE) && !gro_test_has(c, ETH))
		return;
	/* GRE puts it behind itself, whatever is there */
	mac = want->ip;
	while (c->layers[mac - 1] != GRE && c->layers[mac] != ETH)
		mac--;
	KUNIT_EXPECT_EQ(test, skb_inner_mac_header(skb) - skb->data,
			want->offset[mac]);
}

static void gro_test_run(struct kunit *test, const struct gro_test_case *c,
			 bool paged)
{
	struct gro_test_packet packet[GRO_TEST_PACKETS], whole;
	struct gro_test *t = test->priv;
	struct sk_buff *skb, *next;
	unsigned int i, n = 0;
	LIST_HEAD(list);

	for (i = 0; i < GRO_TEST_PACKETS; i++) {
		gro_test_build(test, c, i, 1, &packet[i]);
		gro_test_spoil(c, i, &packet[i]);
	}
	gro_test_build(test, c, 0, GRO_TEST_PACKETS, &whole);

	if (gro_test_has(c, UDPT) && !c->late)
		gro_test_tunnel_up(test, t);
	for (i = 0; i < GRO_TEST_PACKETS; i++) {
		skb = gro_test_skb(test, t, &packet[i], paged);
		local_bh_disable();
		napi_gro_receive(&t->napi, skb);
		local_bh_enable();
	}
	if (c->late)
		gro_test_tunnel_up(test, t);
	local_bh_disable();
	napi_gro_flush(&t->napi, false);
	list_splice_init(&t->napi.gro.rx_list, &list);
	t->napi.gro.rx_count = 0;
	local_bh_enable();
	if (t->sock) {
		udp_tunnel_sock_release(t->sock->sk);
		t->sock = NULL;
	}

	list_for_each_entry_safe(skb, next, &list, list) {
		skb_list_del_init(skb);
		if (c->unmerged && n < GRO_TEST_PACKETS) {
			gro_test_compare(test, skb, &packet[n]);
			KUNIT_EXPECT_FALSE(test, skb_is_gso(skb));
		} else if (!c->late && !n) {
			gro_test_compare(test, skb, &whole);
			gro_test_fields(test, c, skb, &whole);
		}
		kfree_skb(skb);
		n++;
	}
	KUNIT_EXPECT_EQ(test, n, c->late ? 0 :
			c->unmerged ? GRO_TEST_PACKETS : 1);
}

static void gro_test_linear(struct kunit *test)
{
	gro_test_run(test, test->param_value, false);
}

static void gro_test_paged(struct kunit *test)
{
	gro_test_run(test, test->param_value, true);
}

static int gro_test_poll(struct napi_struct *napi, int budget)
{
	return 0;
}

static int gro_test_init(struct kunit *test)
{
	struct gro_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	t->dev = alloc_netdev_dummy(0);
	if (!t->dev)
		return -ENOMEM;
	t->dev->features |= NETIF_F_GRO | NETIF_F_GRO_UDP_FWD;
	t->dev->gro_max_size = GRO_MAX_SIZE;
	netif_napi_add(t->dev, &t->napi, gro_test_poll);
	test->priv = t;
	return 0;
}

static void gro_test_exit(struct kunit *test)
{
	struct gro_test *t = test->priv;

	if (!t)
		return;
	/* a case that was left half way */
	if (t->sock)
		udp_tunnel_sock_release(t->sock->sk);
	netif_napi_del(&t->napi);
	synchronize_net();
	free_netdev(t->dev);
}

KUNIT_ARRAY_PARAM_DESC(gro_test, gro_test_cases, name);

static struct kunit_case gro_test_suite_cases[] = {
	KUNIT_CASE_PARAM(gro_test_linear, gro_test_gen_params),
	KUNIT_CASE_PARAM(gro_test_paged, gro_test_gen_params),
	{}
};

static struct kunit_suite gro_test_suite = {
	.name = "ip6_gro",
	.init = gro_test_init,
	.exit = gro_test_exit,
	.test_cases = gro_test_suite_cases,
};

kunit_test_suite(gro_test_suite);

MODULE_DESCRIPTION("KUnit tests of GRO of IPv6");
MODULE_LICENSE("GPL");
