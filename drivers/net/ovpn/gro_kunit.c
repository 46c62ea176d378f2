// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: KUnit tests of receive batches, included by
 *  gro.c
 *
 * Packets come in by NAPI, as they do from a NIC: IP's and UDP's GRO, the
 * lookup of the socket and the completion of chains are the kernel's own. What
 * GRO lets go of is taken away at the device, before it climbs.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <net/gso.h>
#include <net/ip6_checksum.h>
#include <net/udp_tunnel.h>

#include "ovpn_kunit.h"
#include "socket.h"

#define PACKETS_MAX	160
#define RECORD_LEN	1000
#define GRO_OP		(OVPN_DATA_V2 << 27 | 5 << 24 | 0x123456)

/* how a packet differs from the usual one */
enum gro_how {
	HOW_PORT = BIT(0),	/* another source port */
	HOW_AWAY = BIT(1),	/* for somebody else */
	HOW_NO_CSUM = BIT(2),	/* no UDP checksum */
	HOW_BAD_CSUM = BIT(3),	/* a wrong one, not verified */
	HOW_NONE = BIT(4),	/* the NIC says nothing about the checksum, */
	HOW_COMPLETE = BIT(5),	/* has summed up, */
	HOW_PARTIAL = BIT(6),	/* does not need it (veth), */
	HOW_LEVEL = BIT(7),	/* or has verified two of them */
	HOW_HOPS = BIT(8),	/* another TTL or hop limit */
	HOW_TOS = BIT(9),	/* congestion was experienced */
	HOW_LABEL = BIT(10),	/* another flow label */
	HOW_FIXED_ID = BIT(11),	/* the IPv4 ID is always the same, */
	HOW_JUMP = BIT(12),	/* or not the next one */
	HOW_DF = BIT(13),	/* not to be fragmented */
	HOW_GSO = BIT(14),	/* two datagrams in one packet */
	HOW_LIST = BIT(15),	/* a frag list, as of reassembly */
	HOW_FITS = BIT(16),	/* 65535 bytes with all before and headers */
	HOW_OVER = BIT(17),	/* 65536 bytes with all before, without these */
};

/* how the bytes come */
enum gro_shape {
	SHAPE_LINEAR,
	SHAPE_VLAN,	/* with a VLAN tag in front of the IP header */
	SHAPE_SPLIT,	/* beyond the opcode word in a fragment */
	SHAPE_PAGED,	/* all in a fragment */
};

/**
 * struct gro_packet - packets of one kind
 * @count: how many of them
 * @len: bytes behind the UDP header, zero is RECORD_LEN
 * @op: what differs in the opcode word
 * @how: see enum gro_how
 */
struct gro_packet {
	unsigned int count;
	unsigned int len;
	u32 op;
	unsigned int how;
};

/**
 * struct gro_test - what packets go through
 * @nic: device that packets come from, not registered
 * @ovpn: an instance whose device is not registered
 * @napi: poll instance of @nic
 * @polled: @napi has no more packets
 * @lo_opened: the loopback device was down
 * @sock: a socket of either address family, that of IPv6 if there can be one
 * @sk: the same, as the driver knows them
 * @in: what @napi finds
 * @out: what GRO let go of
 * @copy: copies of the packets
 * @truesize: their size as they came
 * @count: number of packets so far
 * @bytes: headers and payloads that they would be in one chain
 * @ipv6: address family
 * @shape: see enum gro_shape
 */
struct gro_test {
	struct net_device *nic;
	struct ovpn_priv *ovpn;
	struct napi_struct napi;
	struct completion polled;
	bool lo_opened;
	struct socket *sock[2];
	struct ovpn_socket sk[2];
	struct sk_buff_head in;
	struct sk_buff_head out;
	struct sk_buff *copy[PACKETS_MAX];
	unsigned int truesize[PACKETS_MAX];
	unsigned int count;
	unsigned int bytes;
	bool ipv6;
	enum gro_shape shape;
};

/* a suite has no place for it */
static struct gro_test gro_env;

static int gro_test_poll(struct napi_struct *napi, int budget)
{
	struct gro_test *t = container_of(napi, struct gro_test, napi);
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(&t->in)))
		napi_gro_receive(napi, skb);
	napi_complete_done(napi, 0);
	complete(&t->polled);

	return 0;
}

/* instead of IP */
static rx_handler_result_t gro_test_handler(struct sk_buff **pskb)
{
	struct sk_buff *skb = *pskb;
	struct gro_test *t = rcu_dereference(skb->dev->rx_handler_data);

	__skb_queue_tail(&t->out, skb);
	return RX_HANDLER_CONSUMED;
}

static struct net_device *gro_test_netdev(void)
{
	struct net_device *dev;

	dev = alloc_netdev(sizeof(struct ovpn_priv), "ovpn_kunit",
			   NET_NAME_UNKNOWN, ether_setup);
	if (dev)
		dev->features |= NETIF_F_GRO;
	return dev;
}

/* addresses of this host: those of the loopback device, which may be down */
static int gro_test_loopback(struct gro_test *t)
{
	struct net_device *lo = init_net.loopback_dev;
	int err = 0;

	rtnl_lock();
	if (!(lo->flags & IFF_UP)) {
		err = dev_open(lo, NULL);
		t->lo_opened = !err;
	}
	rtnl_unlock();

	return err;
}

static int gro_test_socket(struct gro_test *t, bool ipv6)
{
	struct udp_port_cfg cfg = {
		.family = ipv6 ? AF_INET6 : AF_INET,
		.ipv6_v6only = ipv6,
	};
	struct ovpn_socket *sk = &t->sk[ipv6];
	struct socket *sock;
	int err;

	err = udp_sock_create(&init_net, &cfg, &sock);
	if (err)
		return err;

	sk->ovpn = t->ovpn;
	sk->sk = sock->sk;
	lock_sock(sock->sk);
	err = ovpn_udp_socket_attach(sk, sock, t->ovpn);
	release_sock(sock->sk);
	if (err)
		sock_release(sock);
	else
		t->sock[ipv6] = sock;

	return err;
}

static void gro_suite_exit(struct kunit_suite *suite)
{
	struct gro_test *t = &gro_env;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(t->sock); i++) {
		if (!t->sock[i])
			continue;
		lock_sock(t->sock[i]->sk);
		ovpn_udp_socket_detach(&t->sk[i]);
		release_sock(t->sock[i]->sk);
		udp_tunnel_sock_release(t->sock[i]->sk);
	}

	if (t->nic) {
		napi_disable(&t->napi);
		netif_napi_del(&t->napi);
		rtnl_lock();
		netdev_rx_handler_unregister(t->nic);
		rtnl_unlock();
		free_netdev(t->nic);
	}

	if (t->lo_opened) {
		rtnl_lock();
		dev_close(init_net.loopback_dev);
		rtnl_unlock();
	}

	if (t->ovpn) {
		free_percpu(t->ovpn->batch_stats);
		free_netdev(t->ovpn->dev);
	}
}

static int gro_suite_start(struct gro_test *t)
{
	struct net_device *dev;
	int err;

	dev = gro_test_netdev();
	if (!dev)
		return -ENOMEM;
	t->ovpn = netdev_priv(dev);
	t->ovpn->dev = dev;
	t->ovpn->batch_stats = ovpn_batch_stats_alloc();
	if (!t->ovpn->batch_stats)
		return -ENOMEM;

	dev = gro_test_netdev();
	if (!dev)
		return -ENOMEM;
	rtnl_lock();
	err = netdev_rx_handler_register(dev, gro_test_handler, t);
	rtnl_unlock();
	if (err) {
		free_netdev(dev);
		return err;
	}
	netif_napi_add(dev, &t->napi, gro_test_poll);
	napi_enable(&t->napi);
	t->nic = dev;

	err = gro_test_loopback(t) ?: gro_test_socket(t, false);
	if (err)
		return err;

	/* that one may be switched off */
	if (gro_test_socket(t, true))
		pr_info("ovpn_gro: without IPv6\n");
	return 0;
}

static int gro_suite_init(struct kunit_suite *suite)
{
	struct gro_test *t = &gro_env;
	int err;

	memset(t, 0, sizeof(*t));
	init_completion(&t->polled);
	__skb_queue_head_init(&t->in);
	__skb_queue_head_init(&t->out);

	err = gro_suite_start(t);
	/* KUnit does not */
	if (err)
		gro_suite_exit(suite);
	return err;
}

/* forget the packets so far */
static void gro_test_reset(struct gro_test *t)
{
	__skb_queue_purge(&t->in);
	__skb_queue_purge(&t->out);
	while (t->count)
		kfree_skb(t->copy[--t->count]);
	t->bytes = 0;
}

static int gro_test_init(struct kunit *test)
{
	struct gro_test *t = &gro_env;

	t->ipv6 = false;
	t->shape = SHAPE_LINEAR;
	test->priv = t;
	return 0;
}

static void gro_test_exit(struct kunit *test)
{
	gro_test_reset(&gro_env);
}

static unsigned int gro_hdr_len(const struct gro_test *t)
{
	return sizeof(struct udphdr) + (t->ipv6 ? sizeof(struct ipv6hdr) :
						  sizeof(struct iphdr));
}

static void gro_put_ip4(struct gro_test *t, struct sk_buff *skb,
			unsigned int len, unsigned int how)
{
	struct iphdr *iph = skb_put_zero(skb, sizeof(*iph));

	iph->version = 4;
	iph->ihl = 5;
	iph->tos = how & HOW_TOS ? INET_ECN_CE : 0;
	iph->tot_len = htons(sizeof(*iph) + len);
	iph->id = htons(how & HOW_FIXED_ID ? 7 :
			1000 + t->count + (how & HOW_JUMP ? 100 : 0));
	iph->frag_off = how & (HOW_DF | HOW_FIXED_ID) ? htons(IP_DF) : 0;
	iph->ttl = how & HOW_HOPS ? 63 : 64;
	iph->protocol = IPPROTO_UDP;
	iph->saddr = htonl(0xc0000202);
	iph->daddr = htonl(how & HOW_AWAY ? 0xc0000203 : INADDR_LOOPBACK);
	ip_send_check(iph);
}

static void gro_put_ip6(struct gro_test *t, struct sk_buff *skb,
			unsigned int len, unsigned int how)
{
	static const struct in6_addr doc = {
		.s6_addr = { 0x20, 0x01, 0x0d, 0xb8 },
	};
	struct ipv6hdr *ip6h = skb_put_zero(skb, sizeof(*ip6h));

	ip6_flow_hdr(ip6h, how & HOW_TOS ? INET_ECN_CE : 0,
		     htonl(how & HOW_LABEL ? 3 : 0));
	ip6h->payload_len = htons(len);
	ip6h->nexthdr = IPPROTO_UDP;
	ip6h->hop_limit = how & HOW_HOPS ? 63 : 64;
	ip6h->saddr = doc;
	ip6h->daddr = doc;
	ip6h->daddr.s6_addr[15] = 3;
	if (!(how & HOW_AWAY))
		ip6h->daddr = in6addr_loopback;
}

static void gro_put_csum(struct gro_test *t, struct sk_buff *skb,
			 struct udphdr *uh, unsigned int how)
{
	unsigned int len = ntohs(uh->len);
	__wsum csum = 0;

	uh->check = 0;
	if (how & HOW_NO_CSUM)
		return;

	if (!(how & HOW_PARTIAL))
		csum = csum_partial(uh, len, 0);
	if (t->ipv6)
		uh->check = csum_ipv6_magic(&ipv6_hdr(skb)->saddr,
					    &ipv6_hdr(skb)->daddr, len,
					    IPPROTO_UDP, csum);
	else
		uh->check = csum_tcpudp_magic(ip_hdr(skb)->saddr,
					      ip_hdr(skb)->daddr, len,
					      IPPROTO_UDP, csum);
	if (how & HOW_PARTIAL) {
		uh->check = ~uh->check;
		skb->csum_start = (void *)uh - (void *)skb->head;
		skb->csum_offset = offsetof(struct udphdr, check);
	} else if (how & HOW_BAD_CSUM) {
		uh->check = (__force __sum16)((__force u16)uh->check ^ 1);
	}
	if (!uh->check)
		uh->check = CSUM_MANGLED_0;
}

static void gro_set_csum(struct sk_buff *skb, unsigned int how)
{
	if (how & (HOW_NONE | HOW_BAD_CSUM)) {
		skb->ip_summed = CHECKSUM_NONE;
	} else if (how & HOW_PARTIAL) {
		skb->ip_summed = CHECKSUM_PARTIAL;
	} else if (how & HOW_COMPLETE) {
		skb->ip_summed = CHECKSUM_COMPLETE;
		skb->csum = skb_checksum(skb, 0, skb->len, 0);
	} else {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = how & HOW_LEVEL ? 1 : 0;
	}
}

/* move what is beyond the first head bytes into a page */
static void gro_to_page(struct kunit *test, struct sk_buff *skb,
			unsigned int head)
{
	unsigned int len = skb->len - head;
	struct page *page;

	KUNIT_ASSERT_LE(test, len, PAGE_SIZE);
	page = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page);
	memcpy(page_address(page), skb->data + head, len);
	skb_trim(skb, head);
	skb_add_rx_frag(skb, 0, page, 0, len, PAGE_SIZE);
}

/* move the last bytes into a frag list */
static void gro_to_list(struct kunit *test, struct sk_buff *skb)
{
	const unsigned int len = 8;
	struct sk_buff *list;

	list = alloc_skb(len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, list);
	skb_put_data(list, skb->data + skb->len - len, len);
	skb_trim(skb, skb->len - len);
	skb_shinfo(skb)->frag_list = list;
	skb->len += len;
	skb->data_len += len;
	skb->truesize += list->truesize;
}

/* Make a packet, and a copy of it. Its packet ID is its number, and the bytes
 * behind depend on it.
 */
static struct sk_buff *gro_make(struct kunit *test, const struct gro_packet *p)
{
	unsigned int len = p->len ?: RECORD_LEN, how = p->how, i;
	struct gro_test *t = test->priv;
	unsigned int hdr_len = gro_hdr_len(t);
	struct vlan_hdr *vlan;
	struct udphdr *uh;
	struct sk_buff *skb;
	u8 *data;

	if (how & HOW_FITS)
		len = 65535 - hdr_len - t->bytes;
	else if (how & HOW_OVER)
		len = 65536 - t->bytes;

	KUNIT_ASSERT_LT(test, t->count, PACKETS_MAX);
	skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + VLAN_ETH_HLEN + hdr_len +
			len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	__skb_queue_tail(&t->in, skb);
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_zero(skb, ETH_HLEN);
	skb_reset_mac_header(skb);
	skb_pull(skb, ETH_HLEN);
	skb->dev = t->nic;
	skb->protocol = htons(t->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	if (t->shape == SHAPE_VLAN) {
		vlan = skb_put(skb, VLAN_HLEN);
		vlan->h_vlan_TCI = htons(9);
		vlan->h_vlan_encapsulated_proto = skb->protocol;
		skb->protocol = htons(ETH_P_8021Q);
	}
	eth_hdr(skb)->h_proto = skb->protocol;
	skb_set_network_header(skb, skb->len);

	if (t->ipv6)
		gro_put_ip6(t, skb, sizeof(*uh) + len, how);
	else
		gro_put_ip4(t, skb, sizeof(*uh) + len, how);
	skb_set_transport_header(skb, skb->len);
	uh = skb_put(skb, sizeof(*uh));
	uh->source = htons(how & HOW_PORT ? 5001 : 5000);
	uh->dest = inet_sk(t->sk[t->ipv6].sk)->inet_sport;
	uh->len = htons(sizeof(*uh) + len);
	data = skb_put(skb, len);
	for (i = 0; i < len; i++)
		data[i] = t->count * 7 + i;
	if (len >= 4)
		put_unaligned_be32(GRO_OP ^ p->op, data);
	if (len >= 8)
		put_unaligned_be32(t->count, data + 4);
	gro_put_csum(t, skb, uh, how);
	gro_set_csum(skb, how);

	if (how & HOW_LIST)
		gro_to_list(test, skb);
	else if (t->shape == SHAPE_SPLIT)
		gro_to_page(test, skb, hdr_len + OVPN_OPCODE_SIZE);
	else if (t->shape == SHAPE_PAGED)
		gro_to_page(test, skb, 0);
	if (how & HOW_GSO) {
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
		skb_shinfo(skb)->gso_size = len / 2;
		skb_shinfo(skb)->gso_segs = 2;
	}

	t->bytes += t->bytes ? len : hdr_len + len;
	t->truesize[t->count] = skb->truesize;
	t->copy[t->count] = skb_copy(skb, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->copy[t->count]);
	skb_pull(t->copy[t->count++], skb_network_offset(skb));

	return skb;
}

/* have all packets that were made received by one poll */
static void gro_receive(struct gro_test *t)
{
	reinit_completion(&t->polled);
	local_bh_disable();
	napi_schedule(&t->napi);
	local_bh_enable();
	wait_for_completion(&t->polled);
}

/* which packet is it, or at the head of it? */
static unsigned int gro_number(struct gro_test *t, const struct sk_buff *skb,
			       unsigned int off)
{
	__be32 id = 0;

	if (skb_copy_bits(skb, off + OVPN_OPCODE_SIZE, &id, sizeof(id)))
		return PACKETS_MAX;
	return be32_to_cpu(id);
}

/* are the bytes of a packet those of its copy, each from an offset on? */
static bool gro_same(const struct sk_buff *skb, unsigned int off,
		     const struct sk_buff *copy, unsigned int copy_off)
{
	unsigned int len = copy->len - copy_off;
	bool same;
	u8 *buf;

	if (skb->len != off + len)
		return false;

	buf = kmalloc(2 * len, GFP_KERNEL);
	if (!buf)
		return false;
	same = !skb_copy_bits(skb, off, buf, len) &&
	       !skb_copy_bits(copy, copy_off, buf + len, len) &&
	       !memcmp(buf, buf + len, len);
	kfree(buf);

	return same;
}

static unsigned int gro_list_len(const struct sk_buff *skb)
{
	const struct sk_buff *child;
	unsigned int n = 0;

	/* a list that is spoilt may have no end */
	for (child = skb_shinfo(skb)->frag_list; child && n < PACKETS_MAX;
	     child = child->next)
		n++;
	return n;
}

/* make what UDP makes of it before the socket's owner gets it */
static void gro_climb(struct kunit *test, struct sk_buff *skb)
{
	struct gro_test *t = test->priv;
	unsigned int hdr_len = gro_hdr_len(t);

	KUNIT_ASSERT_TRUE(test, pskb_may_pull(skb, hdr_len + OVPN_OPCODE_SIZE));
	skb_set_transport_header(skb, hdr_len - sizeof(struct udphdr));
	__skb_pull(skb, hdr_len - sizeof(struct udphdr));
}

/* Is it a chain of n records, one in step of what came, that whoever finds it
 * treats as it has to be?
 */
static void gro_check_chain(struct kunit *test, struct sk_buff *skb,
			    unsigned int n, unsigned int step)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	struct gro_test *t = test->priv;
	unsigned int hdr_len = gro_hdr_len(t), first, type, i, len = hdr_len;
	bool csum, fixed = false;

	first = gro_number(t, skb, hdr_len);
	KUNIT_ASSERT_LT(test, first + (n - 1) * step, t->count);
	for (i = 0; i < n; i++)
		len += t->copy[first + i * step]->len - hdr_len;
	csum = !!udp_hdr(t->copy[first])->check;
	type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST |
	       (csum ? SKB_GSO_UDP_TUNNEL_CSUM : SKB_GSO_UDP_TUNNEL);
	if (!t->ipv6)
		fixed = ip_hdr(t->copy[first])->id ==
			ip_hdr(t->copy[first + step])->id;
	if (fixed)
		type |= SKB_GSO_TCP_FIXEDID;

	KUNIT_EXPECT_TRUE(test, ovpn_gro_is_batch(skb));
	KUNIT_EXPECT_EQ(test, skb->len, len);
	KUNIT_EXPECT_EQ(test, gro_list_len(skb), n - 1);
	KUNIT_EXPECT_EQ(test, shinfo->gso_segs, n);
	KUNIT_EXPECT_EQ(test, shinfo->gso_size, t->copy[first]->len - hdr_len);
	KUNIT_EXPECT_EQ(test, shinfo->gso_type, type);
	KUNIT_EXPECT_FALSE(test, skb->encapsulation);
	KUNIT_EXPECT_FALSE(test, skb->ip_summed == CHECKSUM_NONE);
	KUNIT_EXPECT_FALSE(test, skb->ip_summed == CHECKSUM_COMPLETE);
}

/* are these n records in order, one in step of what came, each as it came? */
static void gro_check_records(struct kunit *test, struct sk_buff_head *records,
			      unsigned int first, unsigned int n,
			      unsigned int step)
{
	struct gro_test *t = test->priv;
	unsigned int hdr_len = gro_hdr_len(t), i = first;
	struct sk_buff *skb, *copy;

	KUNIT_EXPECT_EQ(test, skb_queue_len(records), n);
	skb_queue_walk(records, skb) {
		KUNIT_EXPECT_EQ(test, gro_number(t, skb, 0), i);
		if (i >= t->count)
			break;
		copy = t->copy[i];
		KUNIT_EXPECT_TRUE_MSG(test, gro_same(skb, 0, copy, hdr_len),
				      "record %u", i);
		KUNIT_EXPECT_EQ(test, skb->data_len,
				skb_shinfo(skb)->nr_frags ?
				skb_frag_size(&skb_shinfo(skb)->frags[0]) : 0);
		KUNIT_EXPECT_EQ(test, skb->truesize, t->truesize[i]);
		KUNIT_EXPECT_FALSE(test, skb_shared(skb));
		KUNIT_EXPECT_FALSE(test, skb_is_gso(skb));
		KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->gso_type, 0);
		KUNIT_EXPECT_FALSE(test, skb_has_frag_list(skb));
		/* the lengths in that of the first are the chain's */
		KUNIT_EXPECT_MEMEQ(test, skb_network_header(skb), copy->data,
				   i == first ? 2 : hdr_len);
		KUNIT_EXPECT_EQ(test, skb->data - skb_transport_header(skb),
				sizeof(struct udphdr));
		i += step;
	}
}

/* what a row of the table needs beside packets */
enum gro_setting {
	SET_IPV4 = BIT(0),	/* means nothing for IPv6, */
	SET_IPV6 = BIT(1),	/* or for IPv4 */
	SET_FLOWS = BIT(2),	/* order is that of each flow, */
	SET_TURNS = BIT(3),	/* of two that come in turn */
	SET_OFF = BIT(4),	/* GRO is off at the ovpn device */
	SET_FRAGMENTS = BIT(5),	/* the peer sent fragments, just now, */
	SET_LONG_AGO = BIT(6),	/* or longer ago than a second */
	SET_MAX_SIZE = BIT(7),	/* the NIC's limit is five usual records */
	SET_LONE = BIT(8),	/* all came alone lately, */
	SET_FEW = BIT(9),	/* or one less than it takes */
};

struct gro_case {
	const char *name;
	struct gro_packet packets[4];
	/* records in each packet that GRO lets go, in order */
	u8 out[10];
	/* which end of chains is counted, and how often if not once */
	enum ovpn_batch_stat end;
	unsigned int ends;
	unsigned int set;
};

#define OP_KEY		BIT(24)
#define OP_PEER		BIT(0)
#define OP_CONTROL	((OVPN_DATA_V2 ^ 4) << 27)
#define OP_DATA_V1	((OVPN_DATA_V2 ^ OVPN_DATA_V1) << 27)

static const struct gro_case gro_cases[] = {
	{ "one", { { 1 } }, { 1 } },
	{ "two", { { 2 } }, { 2 } },
	{ "three", { { 3 } }, { 3 } },

	/* opcode word */
	{ "another key", { { 2 }, { 1, .op = OP_KEY } }, { 2, 1 },
	  OVPN_RX_BATCH_END_KEY },
	{ "two keys in turn", { { 1 }, { 1, .op = OP_KEY }, { 1 },
				{ 1, .op = OP_KEY } }, { 1, 1, 1, 1 } },
	{ "two keys in a row", { { 2 }, { 3, .op = OP_KEY }, { 2 } },
	  { 2, 3, 2 }, OVPN_RX_BATCH_END_KEY, 2 },
	{ "another peer", { { 2 }, { 1, .op = OP_PEER } }, { 2, 1 },
	  OVPN_RX_BATCH_END_KEY },
	{ "two peers in a row", { { 2 }, { 2, .op = OP_PEER }, { 1 } },
	  { 2, 2, 1 }, OVPN_RX_BATCH_END_KEY, 2 },
	{ "control channel", { { 2 }, { 1, .op = OP_CONTROL }, { 2 } },
	  { 2, 1, 2 }, OVPN_RX_BATCH_END_OTHER },
	{ "control channel only", { { 3, .op = OP_CONTROL } }, { 1, 1, 1 } },
	{ "control channel after one", { { 1 }, { 1, .op = OP_CONTROL },
					 { 1 } }, { 1, 1, 1 } },
	{ "old data opcode", { { 2 }, { 2, .op = OP_DATA_V1 } }, { 2, 1, 1 },
	  OVPN_RX_BATCH_END_OTHER },

	/* lengths */
	{ "a shorter one", { { 3 }, { 1, 999 }, { 2 } }, { 4, 2 },
	  OVPN_RX_BATCH_END_SHORT },
	{ "a shorter one after one", { { 1 }, { 1, 500 }, { 1, 500 } },
	  { 2, 1 }, OVPN_RX_BATCH_END_SHORT },
	{ "a longer one", { { 3 }, { 1, 1001 } }, { 3, 1 },
	  OVPN_RX_BATCH_END_LONG },
	{ "a longer one after one", { { 1 }, { 2, 1001 } }, { 1, 2 } },
	{ "longer ones", { { 2 }, { 2, 1001 }, { 2, 1002 } }, { 2, 2, 2 },
	  OVPN_RX_BATCH_END_LONG, 2 },
	{ "the shortest", { { 3, 41 } }, { 3 } },
	{ "the shortest at the end", { { 3 }, { 1, 41 } }, { 4 },
	  OVPN_RX_BATCH_END_SHORT },
	{ "keepalive messages", { { 3, 40 } }, { 1, 1, 1 } },
	{ "a keepalive message", { { 2 }, { 1, 40 }, { 2 } }, { 2, 1, 2 },
	  OVPN_RX_BATCH_END_OTHER },
	{ "a keepalive message after one", { { 1 }, { 1, 40 }, { 1 } },
	  { 1, 1, 1 } },
	{ "no payload", { { 2 }, { 1, 24 }, { 1 } }, { 2, 1, 1 },
	  OVPN_RX_BATCH_END_OTHER },
	{ "not even a header", { { 2 }, { 1, 23 }, { 1 } }, { 2, 1, 1 },
	  OVPN_RX_BATCH_END_OTHER },

	/* limits */
	{ "64 records", { { 64, 500 } }, { 64 }, OVPN_RX_BATCH_END_FULL },
	{ "63 records and a short one", { { 63, 500 }, { 1, 100 } }, { 64 },
	  OVPN_RX_BATCH_END_SHORT },
	{ "65 records", { { 65, 500 } }, { 64, 1 }, OVPN_RX_BATCH_END_FULL },
	{ "130 records", { { 130, 500 } }, { 64, 64, 2 },
	  OVPN_RX_BATCH_END_FULL, 2 },
	{ "a byte less than 64 KiB", { { 46, 1400 }, { 1, .how = HOW_FITS } },
	  { 47 }, OVPN_RX_BATCH_END_SHORT },
	{ "64 KiB", { { 46, 1400 }, { 1, .how = HOW_OVER } }, { 46, 1 },
	  OVPN_RX_BATCH_END_FULL },
	{ "more than 64 KiB", { { 60, 1400 } }, { 46, 14 },
	  OVPN_RX_BATCH_END_FULL },
	{ "the NIC's limit", { { 12 } }, { 5, 5, 2 },
	  OVPN_RX_BATCH_END_FULL, 2, SET_MAX_SIZE },

	/* flows */
	{ "another port", { { 2 }, { 2, .how = HOW_PORT } }, { 2, 2 } },
	{ "two ports in turn", { { 1, .how = HOW_FIXED_ID },
				 { 1, .how = HOW_FIXED_ID | HOW_PORT },
				 { 1, .how = HOW_FIXED_ID },
				 { 1, .how = HOW_FIXED_ID | HOW_PORT } },
	  { 2, 2 }, .set = SET_FLOWS | SET_TURNS },
	{ "not for this host", { { 3, .how = HOW_AWAY } }, { 1, 1, 1 } },
	{ "flow label", { { 2 }, { 2, .how = HOW_LABEL } }, { 2, 2 },
	  .set = SET_IPV6 },
	{ "another TTL", { { 2 }, { 2, .how = HOW_HOPS } }, { 2, 2 },
	  OVPN_RX_BATCH_END_HEADER },
	{ "a mark of congestion", { { 2 }, { 1, .how = HOW_TOS }, { 1 } },
	  { 2, 1, 1 }, OVPN_RX_BATCH_END_HEADER },
	{ "marks of congestion", { { 3, .how = HOW_TOS } }, { 3 } },
	{ "one ID for all", { { 3, .how = HOW_FIXED_ID } }, { 3 },
	  .set = SET_IPV4 },
	{ "an ID leaps", { { 2 }, { 1, .how = HOW_JUMP } }, { 2, 1 },
	  OVPN_RX_BATCH_END_HEADER, .set = SET_IPV4 },
	{ "not to be fragmented", { { 2 }, { 2, .how = HOW_DF } }, { 2, 2 },
	  OVPN_RX_BATCH_END_HEADER, .set = SET_IPV4 },

	/* checksums */
	{ "without", { { 3, .how = HOW_NO_CSUM } }, { 3 } },
	{ "some without", { { 2 }, { 2, .how = HOW_NO_CSUM } }, { 2, 2 } },
	{ "some with", { { 2, .how = HOW_NO_CSUM }, { 2 } }, { 2, 2 } },
	{ "summed up by the NIC", { { 3, .how = HOW_COMPLETE } }, { 3 } },
	{ "nothing from the NIC", { { 3, .how = HOW_NONE } }, { 3 } },
	{ "of all sorts", { { 1, .how = HOW_COMPLETE }, { 1 },
			    { 1, .how = HOW_NONE } }, { 3 } },
	{ "two verified", { { 2 }, { 1, .how = HOW_LEVEL } }, { 2, 1 },
	  OVPN_RX_BATCH_END_HEADER },
	{ "partial", { { 3, .how = HOW_PARTIAL } }, { 3 } },
	{ "some partial", { { 2 }, { 1, .how = HOW_PARTIAL } }, { 2, 1 },
	  OVPN_RX_BATCH_END_HEADER },
	/* the core lets go of that at once */
	{ "wrong", { { 2 }, { 1, .how = HOW_BAD_CSUM } }, { 1, 2 },
	  .set = SET_FLOWS },

	/* what is not one datagram */
	{ "GSO", { { 2 }, { 1, .how = HOW_GSO }, { 2 } }, { 2, 1, 2 },
	  OVPN_RX_BATCH_END_OTHER },
	{ "only GSO", { { 3, .how = HOW_GSO } }, { 1, 1, 1 } },
	{ "a frag list", { { 2 }, { 1, .how = HOW_LIST }, { 2 } },
	  { 2, 1, 2 }, OVPN_RX_BATCH_END_OTHER },

	/* what does not depend on packets */
	{ "switched off", { { 3 } }, { 1, 1, 1 }, .set = SET_OFF },
	{ "fragments", { { 3 } }, { 1, 1, 1 },
	  OVPN_RX_UNBATCHED_FRAGMENTS, 3, SET_FRAGMENTS },
	{ "fragments of somebody else", { { 3, .op = OP_PEER } }, { 3 },
	  .set = SET_FRAGMENTS },
	{ "fragments, after somebody else",
	  { { 1, .op = OP_PEER }, { 1 }, { 2, .op = OP_PEER } }, { 1, 1, 2 },
	  OVPN_RX_UNBATCHED_FRAGMENTS, 1, SET_FRAGMENTS },
	{ "fragments, long ago", { { 3 } }, { 3 }, .set = SET_LONG_AGO },

	/* those that came alone before: every eighth is held, by its number */
	{ "alone", { { 1, .op = OP_CONTROL }, { 12 } },
	  { 1, 1, 1, 1, 1, 1, 1, 1, 5 }, .set = SET_LONE },
	{ "alone no longer", { { 1, .op = OP_CONTROL }, { 12 },
			       { 2, .op = OP_KEY } },
	  { 1, 1, 1, 1, 1, 1, 1, 1, 5, 2 }, OVPN_RX_BATCH_END_KEY,
	  .set = SET_LONE },
	{ "alone, but not for long", { { 1, .op = OP_CONTROL }, { 3 } },
	  { 1, 3 }, .set = SET_FEW },
};

KUNIT_ARRAY_PARAM_DESC(gro, gro_cases, name);

/* what is known about the peer whose records these are, unless .op says else */
static struct ovpn_gro_hint *gro_hint(struct gro_test *t)
{
	__be32 op = cpu_to_be32(GRO_OP);

	return ovpn_gro_hint(&t->sk[t->ipv6], &op);
}

static void gro_set(struct gro_test *t, unsigned int set)
{
	struct ovpn_gro_hint *hint = gro_hint(t);
	unsigned int size = GSO_LEGACY_MAX_SIZE;

	if (set & SET_MAX_SIZE)
		size = gro_hdr_len(t) + 5 * RECORD_LEN;
	WRITE_ONCE(t->nic->gro_max_size, size);
	WRITE_ONCE(t->nic->gro_ipv4_max_size, size);

	if (set & SET_OFF)
		t->ovpn->dev->features &= ~NETIF_F_GRO;
	else
		t->ovpn->dev->features |= NETIF_F_GRO;

	hint->lone_records = 0;
	if (set & SET_LONE)
		hint->lone_records = OVPN_GRO_LONE;
	else if (set & SET_FEW)
		hint->lone_records = OVPN_GRO_LONE - 1;

	hint->fragments_seen = 0;
	if (set & SET_FRAGMENTS)
		/* and for another second */
		hint->fragments_seen = (jiffies + HZ) | 1;
	else if (set & SET_LONG_AGO)
		hint->fragments_seen = (jiffies - HZ - 2) | 1;
}

/* what GRO makes of packets, and that the records are what came */
static void gro_check_case(struct kunit *test, const struct gro_case *c)
{
	u64 want[OVPN_BATCH_STATS], got[OVPN_BATCH_STATS];
	unsigned int i, j, n, out, first, next = 0, total = 0;
	unsigned int step = c->set & SET_TURNS ? 2 : 1;
	struct gro_test *t = test->priv;
	struct sk_buff_head records;
	struct sk_buff *skb;

	ovpn_batch_stats_get(t->ovpn->batch_stats, want);
	if (c->end)
		want[c->end] += c->ends ?: 1;
	gro_set(t, c->set);
	for (i = 0; i < ARRAY_SIZE(c->packets); i++)
		for (j = 0; j < c->packets[i].count; j++)
			gro_make(test, &c->packets[i]);
	gro_receive(t);
	if (c->set & SET_LONG_AGO)
		KUNIT_EXPECT_EQ(test, gro_hint(t)->fragments_seen, 0);
	gro_set(t, 0);
	ovpn_batch_stats_get(t->ovpn->batch_stats, got);
	for (i = 0; i < OVPN_BATCH_STATS; i++)
		KUNIT_EXPECT_EQ_MSG(test, got[i], want[i], "counter %u", i);

	__skb_queue_head_init(&records);
	for (i = 0; (skb = __skb_dequeue(&t->out)); i++) {
		n = ovpn_gro_is_batch(skb) ? 1 + gro_list_len(skb) : 1;
		out = i < ARRAY_SIZE(c->out) ? c->out[i] : 0;
		KUNIT_EXPECT_EQ_MSG(test, n, out, "packet %u", i);
		total += n;

		first = gro_number(t, skb, gro_hdr_len(t));
		if (!(c->set & SET_FLOWS))
			KUNIT_EXPECT_EQ_MSG(test, first, next, "packet %u", i);
		next = first + n;
		if (n == 1) {
			KUNIT_EXPECT_TRUE_MSG(test, first < t->count &&
					      gro_same(skb, 0, t->copy[first],
						       0), "packet %u", i);
			kfree_skb(skb);
			continue;
		}

		gro_check_chain(test, skb, n, step);
		gro_climb(test, skb);
		KUNIT_EXPECT_TRUE(test, ovpn_gro_is_whole(skb));
		__skb_pull(skb, sizeof(struct udphdr));
		KUNIT_EXPECT_EQ(test, gro_detach(skb, &records), 0);
		gro_check_records(test, &records, first, n, step);
		__skb_queue_purge(&records);
	}
	KUNIT_EXPECT_EQ(test, total, t->count);
	gro_test_reset(t);
}

/* run a case for each address family that it has a meaning for */
static void gro_check_families(struct kunit *test, const struct gro_case *c)
{
	struct gro_test *t = test->priv;

	if (!(c->set & SET_IPV6)) {
		t->ipv6 = false;
		gro_check_case(test, c);
	}
	if (!(c->set & SET_IPV4) && t->sock[true]) {
		t->ipv6 = true;
		gro_check_case(test, c);
	}
}

/* the table */
static void ovpn_gro_merge(struct kunit *test)
{
	gro_check_families(test, test->param_value);
}

/* each bit of the opcode word that is different */
static void ovpn_gro_opcode_word(struct kunit *test)
{
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		const struct gro_case c = {
			.packets = { { 2 }, { 1, .op = BIT(bit) } },
			.out = { 2, 1 },
			.end = BIT(bit) & OVPN_OPCODE_PKTTYPE_MASK ?
			       OVPN_RX_BATCH_END_OTHER : OVPN_RX_BATCH_END_KEY,
		};

		gro_check_families(test, &c);
	}
}

/* all opcodes: records of DATA_V2 are the only ones that are chained */
static void ovpn_gro_opcodes(struct kunit *test)
{
	u32 opcode;

	for (opcode = 0; opcode < 32; opcode++) {
		const struct gro_case c = {
			.packets = {
				{ 2, .op = (opcode ^ OVPN_DATA_V2) << 27 },
			},
			.out = {
				opcode == OVPN_DATA_V2 ? 2 : 1,
				opcode == OVPN_DATA_V2 ? 0 : 1,
			},
		};

		gro_check_families(test, &c);
	}
}

struct gro_form {
	const char *name;
	bool ipv6;
	enum gro_shape shape;
};

static const struct gro_form gro_forms[] = {
	{ "IPv4, linear", false, SHAPE_LINEAR },
	{ "IPv4, VLAN tag", false, SHAPE_VLAN },
	{ "IPv4, headers linear", false, SHAPE_SPLIT },
	{ "IPv4, in a page", false, SHAPE_PAGED },
	{ "IPv6, linear", true, SHAPE_LINEAR },
	{ "IPv6, VLAN tag", true, SHAPE_VLAN },
	{ "IPv6, headers linear", true, SHAPE_SPLIT },
	{ "IPv6, in a page", true, SHAPE_PAGED },
};

KUNIT_ARRAY_PARAM_DESC(gro_form, gro_forms, name);

#define CHAIN		5

/* make a chain of CHAIN records, the last of them short */
static struct sk_buff *gro_chain(struct kunit *test, struct sk_buff **taps)
{
	static const struct gro_packet usual = { 1 }, last = { 1, 300 };
	const struct gro_form *form = test->param_value;
	struct gro_test *t = test->priv;
	struct sk_buff *skb;
	unsigned int i;

	t->ipv6 = form->ipv6;
	t->shape = form->shape;
	if (!t->sock[t->ipv6])
		kunit_skip(test, "no IPv6");
	if (t->shape == SHAPE_VLAN && !IS_ENABLED(CONFIG_VLAN_8021Q))
		kunit_skip(test, "no VLANs");

	for (i = 0; i < CHAIN; i++) {
		skb = gro_make(test, i < CHAIN - 1 ? &usual : &last);
		if (taps)
			taps[i] = skb_clone(skb, GFP_KERNEL);
	}
	gro_receive(t);

	KUNIT_ASSERT_EQ(test, skb_queue_len(&t->out), 1);
	skb = skb_peek(&t->out);
	gro_check_chain(test, skb, CHAIN, 1);
	__skb_unlink(skb, &t->out);

	return skb;
}

/* a chain, skb->data at its first record */
static struct sk_buff *gro_chain_up(struct kunit *test)
{
	struct sk_buff *skb = gro_chain(test, NULL);

	gro_climb(test, skb);
	__skb_pull(skb, sizeof(struct udphdr));

	return skb;
}

/* each record comes out as it went in, with what the stack knows of the head */
static void ovpn_gro_detach(struct kunit *test)
{
	struct sk_buff *skb = gro_chain_up(test);
	struct gro_test *t = test->priv;
	struct sk_buff_head records;
	struct sk_buff *record;

	skb->dev = t->ovpn->dev;
	skb->skb_iif = 5;
	skb->mark = 6;
	skb->priority = 7;
	__vlan_hwaccel_put_tag(skb_shinfo(skb)->frag_list, htons(ETH_P_8021Q),
			       8);
	skb_shinfo(skb)->frag_list->encapsulation = 1;

	__skb_queue_head_init(&records);
	KUNIT_EXPECT_EQ(test, gro_detach(skb, &records), 0);
	/* the head itself is the first */
	KUNIT_EXPECT_PTR_EQ(test, skb_peek(&records), skb);
	gro_check_records(test, &records, 0, CHAIN, 1);
	skb_queue_walk(&records, record) {
		KUNIT_EXPECT_PTR_EQ(test, record->dev, t->ovpn->dev);
		KUNIT_EXPECT_EQ(test, record->skb_iif, 5);
		KUNIT_EXPECT_EQ(test, record->mark, 6);
		KUNIT_EXPECT_EQ(test, record->priority, 7);
		KUNIT_EXPECT_TRUE(test, record->protocol == skb->protocol);
		KUNIT_EXPECT_FALSE(test, record->encapsulation);
		/* that of the head is the stack's to deal with */
		if (record != skb)
			KUNIT_EXPECT_FALSE(test, skb_vlan_tag_present(record));
	}
	__skb_queue_purge(&records);
}

/* somebody has a clone of the head, which shares the list: he keeps it */
static void ovpn_gro_detach_cloned(struct kunit *test)
{
	struct sk_buff *skb = gro_chain_up(test), *clone, *child, *record;
	unsigned int len = skb->len;
	struct sk_buff_head records;
	u8 *was, *is;

	clone = skb_clone(skb, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, clone);
	was = kunit_kzalloc(test, len, GFP_KERNEL);
	is = kunit_kzalloc(test, len, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, was && is);
	KUNIT_EXPECT_EQ(test, skb_copy_bits(clone, 0, was, len), 0);

	__skb_queue_head_init(&records);
	KUNIT_EXPECT_EQ(test, gro_detach(skb, &records), 0);
	KUNIT_ASSERT_EQ(test, gro_list_len(clone), CHAIN - 1);
	gro_check_records(test, &records, 0, CHAIN, 1);
	KUNIT_EXPECT_TRUE(test, ovpn_gro_is_batch(clone));
	/* no record is one of his, so that what becomes of it is not either */
	skb_queue_walk(&records, record) {
		for (child = skb_shinfo(clone)->frag_list; child;
		     child = child->next)
			KUNIT_EXPECT_PTR_NE(test, record, child);
		memset(record->cb, 0xa5, sizeof(record->cb));
	}
	__skb_queue_purge(&records);
	KUNIT_ASSERT_EQ(test, gro_list_len(clone), CHAIN - 1);
	KUNIT_EXPECT_EQ(test, clone->len, len);
	KUNIT_EXPECT_EQ(test, skb_copy_bits(clone, 0, is, len), 0);
	KUNIT_EXPECT_MEMEQ(test, is, was, len);
	kfree_skb(clone);
}

/* somebody has one of the children: it is left alone */
static void ovpn_gro_detach_shared(struct kunit *test)
{
	struct sk_buff *skb = gro_chain_up(test), *shared, *next, *record;
	struct gro_test *t = test->priv;
	struct sk_buff_head records;

	shared = skb_get(skb_shinfo(skb)->frag_list->next);
	next = shared->next;
	skb->mark = 6;
	memset(shared->cb, 0x5a, sizeof(shared->cb));

	__skb_queue_head_init(&records);
	KUNIT_EXPECT_EQ(test, gro_detach(skb, &records), 0);
	gro_check_records(test, &records, 0, CHAIN, 1);
	skb_queue_walk(&records, record) {
		KUNIT_EXPECT_PTR_NE(test, record, shared);
		KUNIT_EXPECT_EQ(test, record->mark, 6);
	}
	KUNIT_EXPECT_FALSE(test, skb_shared(shared));
	KUNIT_EXPECT_PTR_EQ(test, shared->next, next);
	KUNIT_EXPECT_EQ(test, shared->mark, 0);
	KUNIT_EXPECT_EQ(test, shared->cb[0], 0x5a);
	__skb_queue_purge(&records);
	KUNIT_EXPECT_TRUE(test, gro_same(shared, 0, t->copy[2],
					 gro_hdr_len(t)));
	skb_mark_not_on_list(shared);
	kfree_skb(shared);
}

/* whoever has clones of the packets sees no chain, just packets */
static void ovpn_gro_taps(struct kunit *test)
{
	const struct gro_form *form = test->param_value;
	struct gro_test *t = test->priv;
	struct sk_buff *taps[CHAIN] = {}, *skb;
	struct sk_buff_head records;
	unsigned int i;

	if (form->shape == SHAPE_PAGED)
		kunit_skip(test, "GRO pulls headers whoever has the fragments");

	skb = gro_chain(test, taps);
	gro_climb(test, skb);
	__skb_pull(skb, sizeof(struct udphdr));
	__skb_queue_head_init(&records);
	KUNIT_EXPECT_EQ(test, gro_detach(skb, &records), 0);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&records), CHAIN);
	for (i = 0; i < CHAIN; i++) {
		KUNIT_ASSERT_NOT_NULL(test, taps[i]);
		KUNIT_EXPECT_FALSE(test, skb_has_frag_list(taps[i]));
		KUNIT_EXPECT_EQ(test, skb_shinfo(taps[i])->gso_type, 0);
		KUNIT_EXPECT_TRUE(test, gro_same(taps[i],
						 skb_network_offset(taps[i]),
						 t->copy[i], 0));
	}
	__skb_queue_purge(&records);
	for (i = 0; i < CHAIN; i++) {
		KUNIT_EXPECT_TRUE(test, gro_same(taps[i],
						 skb_network_offset(taps[i]),
						 t->copy[i], 0));
		kfree_skb(taps[i]);
	}
}

/* on its way to somebody else a chain becomes the datagrams that it was */
static void ovpn_gro_segment(struct kunit *test)
{
	struct sk_buff *skb = gro_chain(test, NULL), *segs, *next;
	struct gro_test *t = test->priv;
	unsigned int i = 0;

	__skb_push(skb, skb->data - skb_mac_header(skb));
	segs = __skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, segs);
	consume_skb(skb);
	skb_list_walk_safe(segs, skb, next) {
		skb_mark_not_on_list(skb);
		KUNIT_EXPECT_LT(test, i, CHAIN);
		if (i < CHAIN)
			KUNIT_EXPECT_TRUE_MSG(test,
					      gro_same(skb, ETH_HLEN,
						       t->copy[i], 0),
					      "datagram %u", i);
		kfree_skb(skb);
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, CHAIN);
}

/* a chain that somebody has flattened is none, and known for it */
static void ovpn_gro_whole(struct kunit *test)
{
	struct sk_buff *skb = gro_chain(test, NULL), *pulled, *linear;

	gro_climb(test, skb);
	pulled = skb_clone(skb, GFP_KERNEL);
	linear = skb_clone(skb, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, pulled && linear);

	KUNIT_EXPECT_TRUE(test, ovpn_gro_is_whole(skb));
	KUNIT_EXPECT_EQ(test, skb_linearize(linear), 0);
	KUNIT_EXPECT_TRUE(test, ovpn_gro_is_batch(linear));
	KUNIT_EXPECT_FALSE(test, ovpn_gro_is_whole(linear));
	/* into the second record */
	KUNIT_EXPECT_TRUE(test, pskb_may_pull(pulled, RECORD_LEN + 20));
	KUNIT_EXPECT_TRUE(test, ovpn_gro_is_batch(pulled));
	KUNIT_EXPECT_FALSE(test, ovpn_gro_is_whole(pulled));

	kfree_skb(linear);
	kfree_skb(pulled);
	kfree_skb(skb);
}

/* a record with an ID and a length, encrypted, in page fragments or not */
static void gro_encrypt(struct kunit *test, struct ovpn_crypto_key_slot *ks,
			struct sk_buff_head *records, u32 id, unsigned int len,
			bool paged)
{
	struct sk_buff *skb;
	void *request;
	int err;

	request = kunit_kmalloc(test, ovpn_aead_record_size(ks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, request);
	skb = alloc_skb(NET_SKB_PAD + OVPN_RECORD_OVERHEAD + len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, NET_SKB_PAD);
	skb_put(skb, OVPN_RECORD_OVERHEAD + len);
	memset(skb->data + OVPN_RECORD_OVERHEAD, id, len);
	ovpn_aead_record_init(ks, request, NULL, NULL);
	err = ovpn_aead_record_encrypt(ks, request, skb->data, len, GRO_OP, id);
	__skb_queue_tail(records, skb);
	KUNIT_EXPECT_EQ(test, err, 0);
	if (paged)
		gro_to_page(test, skb, OVPN_RECORD_OVERHEAD);
}

/* a record that is not authentic, too short or a replay costs only itself */
static void ovpn_gro_decrypt(struct kunit *test)
{
	static const u32 ids[] = { 3, 4, 4, 9, 7, 8, 3, 10 };
	static const u32 good[] = { 3, 4, 8, 10 };
	const unsigned int len = 500;
	struct gro_test *t = test->priv;
	struct ovpn_crypto_key_slot *ks;
	struct sk_buff_head records;
	struct ovpn_peer *peer;
	struct ovpn_rx rx = {};
	struct sk_buff *skb;
	unsigned int i = 0;
	bool newest;
	u8 *want;

	ks = ovpn_kunit_key(test, OVPN_CIPHER_ALG_AES_GCM);
	if (ovpn_aead_is_async(ks->decrypt))
		kunit_skip(test, "the cipher is asynchronous here");
	want = kunit_kmalloc(test, len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, want);
	peer = ovpn_peer_new(t->ovpn, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer));

	__skb_queue_head_init(&records);
	for (i = 0; i < ARRAY_SIZE(ids); i++)
		gro_encrypt(test, ks, &records, ids[i], len, i % 2);
	i = 0;
	skb_queue_walk(&records, skb) {
		/* a bit of the tag, and not even that */
		if (i == 3)
			skb->data[OVPN_AAD_SIZE] ^= 1;
		if (i == 4)
			skb_trim(skb, OVPN_RECORD_OVERHEAD - 1);
		i++;
	}

	local_bh_disable();
	gro_decrypt(peer, ks, &records, &rx);
	KUNIT_EXPECT_EQ(test, rx.dropped, 2);
	newest = gro_check_ids(peer, ks, &records, &rx);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, rx.dropped, 4);
	KUNIT_EXPECT_TRUE(test, newest);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&records), ARRAY_SIZE(good));

	i = 0;
	while ((skb = __skb_dequeue(&records)) && i < ARRAY_SIZE(good)) {
		memset(want, good[i++], len);
		KUNIT_EXPECT_EQ(test, skb->len, OVPN_RECORD_OVERHEAD + len);
		if (!skb_linearize(skb))
			KUNIT_EXPECT_MEMEQ(test,
					   skb->data + OVPN_RECORD_OVERHEAD,
					   want, len);
		kfree_skb(skb);
	}
	__skb_queue_purge(&records);
	ovpn_peer_kill(peer);
	/* it goes away later, but before the device */
	rcu_barrier();
	flush_workqueue(ovpn_wq);
	rcu_barrier();
}

static struct kunit_case ovpn_gro_cases[] = {
	KUNIT_CASE_PARAM(ovpn_gro_merge, gro_gen_params),
	KUNIT_CASE(ovpn_gro_opcode_word),
	KUNIT_CASE(ovpn_gro_opcodes),
	KUNIT_CASE_PARAM(ovpn_gro_detach, gro_form_gen_params),
	KUNIT_CASE_PARAM(ovpn_gro_detach_cloned, gro_form_gen_params),
	KUNIT_CASE_PARAM(ovpn_gro_detach_shared, gro_form_gen_params),
	KUNIT_CASE_PARAM(ovpn_gro_taps, gro_form_gen_params),
	KUNIT_CASE_PARAM(ovpn_gro_segment, gro_form_gen_params),
	KUNIT_CASE_PARAM(ovpn_gro_whole, gro_form_gen_params),
	KUNIT_CASE(ovpn_gro_decrypt),
	{}
};

static struct kunit_suite ovpn_gro_suite = {
	.name = "ovpn_gro",
	.suite_init = gro_suite_init,
	.suite_exit = gro_suite_exit,
	.init = gro_test_init,
	.exit = gro_test_exit,
	.test_cases = ovpn_gro_cases,
};

kunit_test_suite(ovpn_gro_suite);
