// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: KUnit tests, included by udp.c */

#include <kunit/test.h>

struct udp_batch_case {
	const char *name;
	bool ipv6;
	/* of the socket, for each family */
	bool no_check4;
	bool no_check6;
	bool no_route;
	bool xfrm;
	unsigned int mtu;
	unsigned int record;
	enum ovpn_batch_stat reason;
};

static const struct udp_batch_case udp_batch_cases[] = {
	{
		.name = "IPv4, fills the MTU",
		.mtu = 1500, .record = 1500 - 28,
		.reason = OVPN_BATCHED,
	}, {
		.name = "IPv4, a byte too long",
		.mtu = 1500, .record = 1500 - 27,
		.reason = OVPN_TX_UNBATCHED_MTU,
	}, {
		.name = "IPv6, fills the MTU",
		.ipv6 = true, .mtu = 1500, .record = 1500 - 48,
		.reason = OVPN_BATCHED,
	}, {
		.name = "IPv6, a byte too long",
		.ipv6 = true, .mtu = 1500, .record = 1500 - 47,
		.reason = OVPN_TX_UNBATCHED_MTU,
	}, {
		.name = "IPv4, no checksums",
		.no_check4 = true, .mtu = 1500, .record = 1000,
		.reason = OVPN_TX_UNBATCHED_NO_CSUM,
	}, {
		.name = "IPv4, no checksums of IPv6",
		.no_check6 = true, .mtu = 1500, .record = 1000,
		.reason = OVPN_BATCHED,
	}, {
		.name = "IPv6, no checksums",
		.ipv6 = true, .no_check6 = true, .mtu = 1500, .record = 1000,
		.reason = OVPN_TX_UNBATCHED_NO_CSUM,
	}, {
		.name = "IPv6, no checksums of IPv4",
		.ipv6 = true, .no_check4 = true, .mtu = 1500, .record = 1000,
		.reason = OVPN_BATCHED,
	}, {
		.name = "IPv4, no route yet",
		.no_route = true, .record = 1000,
		.reason = OVPN_BATCHED,
	}, {
		.name = "IPv6, no route yet",
		.ipv6 = true, .no_route = true, .record = 1000,
		.reason = OVPN_BATCHED,
	}, {
		.name = "IPv4, IPsec",
		.xfrm = true, .mtu = 1500, .record = 1000,
		.reason = OVPN_TX_UNBATCHED_XFRM,
	}, {
		.name = "IPv6, IPsec",
		.ipv6 = true, .xfrm = true, .mtu = 1500, .record = 1000,
		.reason = OVPN_TX_UNBATCHED_XFRM,
	},
};

KUNIT_ARRAY_PARAM_DESC(udp_batch, udp_batch_cases, name);

struct udp_batch_dst {
	struct dst_entry dst;
	unsigned int mtu;
};

static unsigned int udp_batch_mtu(const struct dst_entry *dst)
{
	return container_of(dst, struct udp_batch_dst, dst)->mtu;
}

static struct dst_ops udp_batch_dst_ops = {
	.mtu = udp_batch_mtu,
};

static void ovpn_udp_batch_reasons(struct kunit *test)
{
	const struct udp_batch_case *c = test->param_value;
	struct udp_batch_dst *route;
	struct sock *sk;

	/* an IPv6 socket is the longer one */
	sk = kunit_kzalloc(test, sizeof(struct udp6_sock), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sk);
	sk->sk_no_check_tx = c->no_check4;
	udp_assign_bit(NO_CHECK6_TX, sk, c->no_check6);

	route = kunit_kzalloc(test, sizeof(*route), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, route);
	route->dst.ops = &udp_batch_dst_ops;
	route->mtu = c->mtu;
	if (c->xfrm) {
#ifdef CONFIG_XFRM
		/* only compared with NULL */
		route->dst.xfrm = (struct xfrm_state *)route;
#else
		kunit_skip(test, "no IPsec in this kernel");
#endif
	}

	KUNIT_EXPECT_EQ(test, ovpn_udp_batch_fits(sk, c->no_route ?
						  NULL : &route->dst,
						  c->ipv6, c->record),
			c->reason);
}

static struct kunit_case ovpn_udp_batch_cases[] = {
	KUNIT_CASE_PARAM(ovpn_udp_batch_reasons, udp_batch_gen_params),
	{}
};

static struct kunit_suite ovpn_udp_batch_suite = {
	.name = "ovpn_udp_batch",
	.test_cases = ovpn_udp_batch_cases,
};

kunit_test_suite(ovpn_udp_batch_suite);
