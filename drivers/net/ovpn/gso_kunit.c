// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: KUnit tests of batches, included by gso.c
 *
 * Aggregates leave by a route whose output is here. That a batch is finished is
 * seen by the references that it gives back, how it is finished by the counters
 * and by what gets here.
 */

#include <crypto/internal/aead.h>
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/workqueue.h>
#include <net/dst_cache.h>
#include <net/route.h>

#include "bind.h"
#include "ovpn_kunit.h"

#define ORDER_MAX	4
#define HEADERS		(sizeof(struct iphdr) + sizeof(struct udphdr))

/**
 * struct gso_test - what batches need
 * @ovpn: an instance whose device is not registered
 * @peer: peer without a key
 * @ks: key slot that is not the peer's
 * @sock: socket of the peer
 * @rt: route to the peer
 * @sent: what left by the route
 * @records: records in what left
 * @bad: what left is not as it has to be
 * @keep: packets are kept in @sent, not only counted
 * @script: what the provider does with each request
 * @req: requests that the provider has not completed
 * @requests: requests that the provider was given
 */
struct gso_test {
	struct ovpn_priv *ovpn;
	struct ovpn_peer *peer;
	struct ovpn_crypto_key_slot *ks;
	struct ovpn_socket sock;
	struct rtable *rt;
	struct sk_buff_head sent;
	unsigned int records;
	bool bad;
	bool keep;
	const u8 *script;
	struct aead_request *req[ORDER_MAX];
	unsigned int requests;
};

/* neither a route nor a cipher has a place for it */
static struct gso_test *gso_running;

/* instead of IP: is it what UDP GSO takes? */
static int gso_test_output(struct net *net, struct sock *sk,
			   struct sk_buff *skb)
{
	struct gso_test *t = gso_running;

	if (skb_transport_offset(skb) != sizeof(struct iphdr) ||
	    udp_hdr(skb)->len != htons(skb->len - sizeof(struct iphdr)) ||
	    skb->ip_summed != CHECKSUM_PARTIAL ||
	    skb_checksum_start_offset(skb) != sizeof(struct iphdr) ||
	    skb->csum_offset != offsetof(struct udphdr, check))
		t->bad = true;

	t->records += skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
	if (t->keep)
		skb_queue_tail(&t->sent, skb);
	else
		consume_skb(skb);

	return 0;
}

/* let this CPU know the route */
static long gso_test_route(void *data)
{
	struct gso_test *t = data;

	local_bh_disable();
	/* a cache is believed once it was asked */
	dst_release(dst_cache_get(&t->peer->dst_cache));
	dst_cache_set_ip4(&t->peer->dst_cache, &t->rt->dst, htonl(0x0a000001));
	local_bh_enable();
	return 0;
}

/* have references counted in one place, anew: else nobody knows how many */
static int gso_test_countable(struct percpu_ref *refs)
{
	percpu_ref_func_t *release = refs->data->release;

	percpu_ref_exit(refs);
	return percpu_ref_init(refs, release, PERCPU_REF_INIT_ATOMIC,
			       GFP_KERNEL);
}

static int gso_test_init(struct kunit *test)
{
	struct ovpn_bind *bind;
	struct net_device *dev;
	struct gso_test *t;
	struct sock *sk;
	int cpu;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	sk = kunit_kzalloc(test, sizeof(struct udp6_sock), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sk);
	sk->sk_protocol = IPPROTO_UDP;
	sock_net_set(sk, &init_net);
	t->sock.sk = sk;
	skb_queue_head_init(&t->sent);
	t->ks = ovpn_kunit_key(test, OVPN_CIPHER_ALG_AES_GCM);

	dev = alloc_netdev(sizeof(struct ovpn_priv), "ovpn_kunit",
			   NET_NAME_UNKNOWN, ether_setup);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	test->priv = t;
	t->ovpn = netdev_priv(dev);
	t->ovpn->dev = dev;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_DSTATS;
	dev->dstats = netdev_alloc_pcpu_stats(struct pcpu_dstats);
	/* a per-CPU pointer is no argument for the macros of pointers */
	KUNIT_ASSERT_TRUE(test, dev->dstats);
	t->ovpn->batch_stats = ovpn_batch_stats_alloc();
	KUNIT_ASSERT_TRUE(test, t->ovpn->batch_stats);

	t->peer = ovpn_peer_new(t->ovpn, 1);
	if (IS_ERR(t->peer))
		t->peer = NULL;
	KUNIT_ASSERT_NOT_NULL(test, t->peer);
	KUNIT_ASSERT_EQ(test, gso_test_countable(&t->peer->refs), 0);
	KUNIT_ASSERT_EQ(test, gso_test_countable(&t->ks->refs), 0);
	/* the test's own */
	KUNIT_ASSERT_TRUE(test, ovpn_crypto_key_slot_hold(t->ks));
	t->peer->tx_id = 0x123456;
	rcu_assign_pointer(t->peer->sock, &t->sock);
	/* it is the peer's, who frees it */
	bind = kzalloc_obj(*bind);
	KUNIT_ASSERT_NOT_NULL(test, bind);
	bind->remote.in4.sin_family = AF_INET;
	bind->remote.in4.sin_addr.s_addr = htonl(0x0a000002);
	rcu_assign_pointer(t->peer->bind, bind);

	t->rt = rt_dst_alloc(dev, 0, RTN_UNICAST, true);
	KUNIT_ASSERT_NOT_NULL(test, t->rt);
	t->rt->dst.output = gso_test_output;
	/* older than whatever is cached within this tick */
	t->peer->dst_cache.reset_ts = jiffies - 1;
	cpus_read_lock();
	for_each_online_cpu(cpu)
		work_on_cpu(cpu, gso_test_route, t);
	cpus_read_unlock();
	gso_running = t;

	return 0;
}

static void gso_test_exit(struct kunit *test)
{
	struct gso_test *t = test->priv;
	struct net_device *dev;

	if (!t)
		return;

	dev = t->ovpn->dev;
	skb_queue_purge(&t->sent);
	if (t->peer) {
		/* the key is the test's */
		RCU_INIT_POINTER(t->peer->crypto.slots[0], NULL);
		ovpn_peer_kill(t->peer);
	}
	if (t->rt)
		ip_rt_put(t->rt);
	/* the peer's cache goes first, then the route that it held */
	rcu_barrier();
	flush_workqueue(ovpn_wq);
	rcu_barrier();
	free_percpu(t->ovpn->batch_stats);
	free_percpu(dev->dstats);
	free_netdev(dev);
}

/* give a batch what ovpn_gso_send() gives it */
static void gso_test_hold(struct gso_test *t, struct ovpn_gso_batch *batch)
{
	for (; batch; batch = batch->next) {
		if (ovpn_peer_hold(t->peer))
			batch->peer = t->peer;
		if (ovpn_crypto_key_slot_hold(t->ks))
			batch->ks = t->ks;
	}
}

/* how many references are held beside the test's own */
static unsigned int gso_test_held(const struct gso_test *t)
{
	return atomic_long_read(&t->peer->refs.data->count) - 1 +
	       atomic_long_read(&t->ks->refs.data->count) - 1 -
	       !percpu_ref_is_dying(&t->ks->refs);
}

static u64 gso_test_stat(const struct gso_test *t, enum ovpn_batch_stat stat)
{
	u64 sums[OVPN_BATCH_STATS];

	ovpn_batch_stats_get(t->ovpn->batch_stats, sums);
	return sums[stat];
}

/* as if the packets were cut from a GSO packet that holds nothing */
static void gso_test_cut(struct ovpn_gso_cut *cut, struct sk_buff *skb,
			 unsigned int hdr_len, unsigned int mss,
			 unsigned int payload)
{
	memset(cut, 0, sizeof(*cut));
	cut->skb = skb;
	cut->hdr_len = hdr_len;
	cut->mss = mss;
	cut->left = payload;
	cut->packets = DIV_ROUND_UP(payload, mss);
}

struct gso_geometry {
	const char *name;
	unsigned int hdr_len;
	unsigned int mss;
	unsigned int payload;
	/* aggregates, and records in the first and the last of them */
	unsigned int parts;
	unsigned int first;
	unsigned int last;
};

/* How much fits an aggregate depends on what this kernel's devices may want in
 * front: 65311 bytes at least and 65455 at most.
 */
static const struct gso_geometry gso_geometries[] = {
	{ "two", 52, 1348, 2 * 1348, 1, 2, 2 },
	{ "two, the last of a byte", 52, 1348, 1349, 1, 2, 2 },
	/* 45 of 1424 bytes fit */
	{ "fills an aggregate", 52, 1348, 45 * 1348, 1, 45, 45 },
	{ "one more", 52, 1348, 45 * 1348 + 1, 2, 23, 23 },
	{ "64 KiB of TCP", 52, 1348, 48 * 1348, 2, 24, 24 },
	{ "BIG TCP", 72, 1348, 130 * 1348 + 7, 3, 44, 43 },
	/* UDP carries 128 segments */
	{ "128 small ones", 28, 100, 12800, 1, 128, 128 },
	{ "129 small ones", 28, 100, 12801, 2, 65, 64 },
	{ "a byte each", 40, 1, 500, 4, 125, 125 },
	/* the largest that are batched */
	{ "just two fit", 40, BATCH_MAX_BYTES / 2 - 64,
	  4 * (BATCH_MAX_BYTES / 2 - 64), 2, 2, 2 },
	{ "one is left", 40, BATCH_MAX_BYTES / 2 - 64,
	  3 * (BATCH_MAX_BYTES / 2 - 64), 2, 2, 1 },
	{ "a page each", 40, 4032, 20 * 4032, 2, 10, 10 },
	{ "more than a page each", 40, 4033, 20 * 4033, 2, 10, 10 },
	{ "half a block each", 40, 16320, 7 * 16320, 3, 3, 2 },
	{ "more than half a block each", 40, 16321, 7 * 16321, 3, 3, 2 },
};

KUNIT_ARRAY_PARAM_DESC(gso_geometry, gso_geometries, name);

static void gso_check_batch(struct kunit *test,
			    const struct ovpn_gso_batch *batch,
			    unsigned int room, unsigned int last)
{
	const struct skb_shared_info *shinfo = skb_shinfo(batch->skb);
	unsigned int records = 0, bytes = 0, i;

	KUNIT_EXPECT_EQ(test, batch->room, room);
	KUNIT_EXPECT_EQ(test, atomic_read(&batch->pending), batch->records + 1);
	KUNIT_EXPECT_EQ(test, batch->error, 0);
	KUNIT_EXPECT_EQ(test, batch->skb->len,
			(batch->records - 1) * room + last);
	KUNIT_EXPECT_EQ(test, skb_headlen(batch->skb), 0);
	/* no larger than any device takes, and no more than UDP does */
	KUNIT_EXPECT_LT(test, batch->skb->len + skb_headroom(batch->skb),
			65536);
	KUNIT_EXPECT_LE(test, batch->records, 128);
	KUNIT_EXPECT_GE(test, skb_headroom(batch->skb), MAX_HEADER + 40 + 8);
	if (batch->records > 1) {
		KUNIT_EXPECT_EQ(test, shinfo->gso_size, room);
		KUNIT_EXPECT_EQ(test, shinfo->gso_segs, batch->records);
		KUNIT_EXPECT_EQ(test, shinfo->gso_type, SKB_GSO_UDP_L4);
	} else {
		KUNIT_EXPECT_FALSE(test, skb_is_gso(batch->skb));
	}
	/* what the tunnel code accounts to the device */
	KUNIT_EXPECT_EQ(test, batch->skb->len -
			      skb_inner_network_offset(batch->skb),
			batch->skb->len - batch->records * 24);

	for (i = 0; i < shinfo->nr_frags; i++) {
		const skb_frag_t *frag = &shinfo->frags[i];
		unsigned int size = skb_frag_size(frag);

		/* within a block, and only whole records */
		KUNIT_EXPECT_LE(test, skb_frag_off(frag) + size,
				page_size(compound_head(skb_frag_page(frag))));
		bytes += size;
		if (i == shinfo->nr_frags - 1)
			size += room - last;
		KUNIT_EXPECT_EQ(test, size % room, 0);
		records += size / room;
	}
	KUNIT_EXPECT_EQ(test, bytes, batch->skb->len);
	KUNIT_EXPECT_EQ(test, records, batch->records);
}

static void ovpn_gso_geometry(struct kunit *test)
{
	const struct gso_geometry *g = test->param_value;
	unsigned int room = 24 + g->hdr_len + g->mss, last, records = 0;
	unsigned int packets = DIV_ROUND_UP(g->payload, g->mss);
	struct ovpn_gso_batch *batches, *batch;
	struct gso_test *t = test->priv;
	unsigned int parts = 0;
	struct ovpn_gso_cut cut;
	struct sk_buff *skb;

	skb = alloc_skb(0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	gso_test_cut(&cut, skb, g->hdr_len, g->mss, g->payload);
	skb->ooo_okay = 1;
	last = 24 + g->hdr_len + g->payload - (packets - 1) * g->mss;

	batches = batches_new(t->ks, &cut);
	kfree_skb(skb);
	KUNIT_ASSERT_NOT_NULL(test, batches);

	KUNIT_EXPECT_EQ(test, batches->records, g->first);
	for (batch = batches; batch; batch = batch->next) {
		gso_check_batch(test, batch, room, batch->next ? room : last);
		/* only what comes first may change the queue */
		KUNIT_EXPECT_EQ(test, !!batch->skb->ooo_okay,
				batch == batches);
		parts++;
		records += batch->records;
		if (!batch->next)
			KUNIT_EXPECT_EQ(test, batch->records, g->last);
	}
	KUNIT_EXPECT_EQ(test, parts, g->parts);
	KUNIT_EXPECT_EQ(test, records, packets);

	/* a list that is never submitted gives back all that it holds */
	gso_test_hold(t, batches);
	KUNIT_EXPECT_EQ(test, gso_test_held(t), 2 * parts);
	batch_free(batches);
	KUNIT_EXPECT_EQ(test, gso_test_held(t), 0);
}

/* the next order of n, or false after the last one */
static bool gso_next_order(u8 *order, unsigned int n)
{
	unsigned int i, j;

	if (n < 2)
		return false;
	for (i = n - 1; order[i - 1] > order[i];)
		if (!--i)
			return false;
	for (j = n - 1; order[j] < order[i - 1]; j--)
		;
	swap(order[i - 1], order[j]);
	for (j = n - 1; i < j; i++, j--)
		swap(order[i], order[j]);
	return true;
}

/* what is counted when a batch is finished */
struct gso_count {
	u64 batches;
	u64 records;
	u64 drops;
	u64 link;
	u64 dev_packets;
	u64 dev_drops;
	u64 sent;
};

static struct gso_count gso_count(const struct gso_test *t)
{
	struct gso_count count = {
		.batches = gso_test_stat(t, OVPN_TX_BATCHES),
		.records = gso_test_stat(t, OVPN_TX_BATCH_RECORDS),
		.drops = gso_test_stat(t, OVPN_TX_BATCH_DROPS),
		.sent = t->records,
	};
	const struct pcpu_dstats *dstats;
	struct ovpn_peer_stats_sum link;
	int cpu;

	ovpn_peer_stats_get(&t->peer->link_stats, &link);
	count.link = link.tx_packets;
	for_each_possible_cpu(cpu) {
		dstats = per_cpu_ptr(t->ovpn->dev->dstats, cpu);
		count.dev_packets += u64_stats_read(&dstats->tx_packets);
		count.dev_drops += u64_stats_read(&dstats->tx_drops);
	}

	return count;
}

/* was a batch of n records finished since, once, and as it should have been? */
static bool gso_finished(const struct gso_test *t, const struct gso_count *was,
			 unsigned int n, bool error)
{
	struct gso_count is = gso_count(t);
	unsigned int good = error ? 0 : n, lost = error ? n : 0;

	return !gso_test_held(t) && !t->bad &&
	       is.batches - was->batches == !error &&
	       is.records - was->records == good &&
	       is.link - was->link == good &&
	       is.dev_packets - was->dev_packets == good &&
	       is.sent - was->sent == good &&
	       is.drops - was->drops == lost &&
	       is.dev_drops - was->dev_drops == lost;
}

/* has nothing been finished since? */
static bool gso_pending(const struct gso_test *t, const struct gso_count *was)
{
	struct gso_count is = gso_count(t);

	return gso_test_held(t) == 2 && !memcmp(&is, was, sizeof(is));
}

static struct ovpn_gso_batch *gso_test_batch(struct kunit *test, unsigned int n)
{
	struct gso_test *t = test->priv;
	struct ovpn_gso_batch *batch;
	struct sk_buff *skb;

	skb = alloc_skb(0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	batch = batch_new(t->ks, skb, n, 100, 50);
	kfree_skb(skb);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	gso_test_hold(t, batch);
	return batch;
}

/* Let go of a batch of n records in one order. Of the requests, those in sync
 * are complete when the submitter, who is number n, lets go, those in fail have
 * failed, and those in backlog report -EINPROGRESS beforehand.
 */
static const char *gso_let_go(struct gso_test *t, struct ovpn_gso_batch *batch,
			      const u8 *order, unsigned int events,
			      unsigned int sync, unsigned int fail,
			      unsigned int backlog)
{
	const struct gso_count was = gso_count(t);
	unsigned int n = batch->records, i;

	for (i = 0; i < events; i++) {
		if (!gso_pending(t, &was))
			return "finished early";
		if (order[i] == n) {
			if (sync & fail)
				WRITE_ONCE(batch->error, -EIO);
			batch_put(batch, 1 + hweight32(sync));
			continue;
		}
		if (backlog & BIT(order[i])) {
			batch_done(batch, -EINPROGRESS);
			if (!gso_pending(t, &was))
				return "finished by -EINPROGRESS";
		}
		batch_done(batch, fail & BIT(order[i]) ? -EIO : 0);
	}

	return gso_finished(t, &was, n, fail) ? NULL : "not finished as due";
}

/* let go of batches in every order, with every result */
static void ovpn_gso_completion(struct kunit *test)
{
	unsigned int n, sync, fail, events, i, j, batches = 0;
	struct gso_test *t = test->priv;
	u8 order[ORDER_MAX + 1];
	const char *bad;

	for (n = 1; n <= ORDER_MAX; n++) {
		for (i = 0; i < BIT(2 * n); i++) {
			sync = i >> n;
			fail = i & (BIT(n) - 1);
			events = 0;
			for (j = 0; j <= n; j++)
				if (!(sync & BIT(j)))
					order[events++] = j;
			do {
				bad = gso_let_go(t, gso_test_batch(test, n),
						 order, events, sync, fail,
						 batches++ % BIT(n));
				if (bad)
					goto bad;
			} while (gso_next_order(order, events));
			cond_resched();
		}
	}
	/* the sum over n and sync of 2^n orders of what is not sync */
	KUNIT_EXPECT_EQ(test, batches, 2 * (2 + 1) + 4 * (6 + 2 * 2 + 1) +
				       8 * (24 + 3 * 6 + 3 * 2 + 1) +
				       16 * (120 + 4 * 24 + 6 * 6 + 4 * 2 + 1));
	return;

bad:
	KUNIT_FAIL(test, "%s: records %u, sync %x, fail %x, order %*ph", bad, n,
		   sync, fail, events, order);
}

/* what the provider does with a request */
enum gso_act {
	ACT_DONE,	/* complete it at once */
	ACT_FAIL,	/* fail at once */
	ACT_BUSY,	/* turn it away */
	ACT_LATER,	/* complete it later */
	ACT_LATER_FAIL,	/* fail later */
	ACT_EARLY,	/* complete it before the call returns */
	ACT_EARLY_FAIL,	/* fail before the call returns */
	ACTS
};

static int gso_provider_encrypt(struct aead_request *req)
{
	struct gso_test *t = gso_running;
	unsigned int i = t->requests++, j;

	/* memory of a request that is not complete must be left alone */
	for (j = 0; j < i; j++)
		if (t->req[j] == req)
			t->bad = true;

	switch (t->script[i]) {
	case ACT_DONE:
		return 0;
	case ACT_FAIL:
		return -EIO;
	case ACT_BUSY:
		return -EBUSY;
	case ACT_EARLY:
		aead_request_complete(req, 0);
		return -EINPROGRESS;
	case ACT_EARLY_FAIL:
		aead_request_complete(req, -EIO);
		return -EINPROGRESS;
	}
	t->req[i] = req;
	return -EINPROGRESS;
}

static int gso_provider_decrypt(struct aead_request *req)
{
	return -EOPNOTSUPP;
}

static int gso_provider_setkey(struct crypto_aead *tfm, const u8 *key,
			       unsigned int keylen)
{
	return 0;
}

static struct aead_alg gso_provider = {
	.setkey = gso_provider_setkey,
	.encrypt = gso_provider_encrypt,
	.decrypt = gso_provider_decrypt,
	.ivsize = OVPN_NONCE_SIZE,
	.maxauthsize = OVPN_AUTH_TAG_SIZE,
	.base = {
		.cra_name = "ovpn-kunit",
		.cra_driver_name = "ovpn-kunit",
		.cra_flags = CRYPTO_ALG_ASYNC,
		.cra_blocksize = 1,
		.cra_module = THIS_MODULE,
	},
};

static void gso_provider_unregister(void *unused)
{
	crypto_unregister_aead(&gso_provider);
}

/* let the provider complete a batch in one order, requests in later */
static const char *gso_submit(struct gso_test *t, struct ovpn_gso_batch *batch,
			      struct ovpn_gso_cut *cut, const u8 *script,
			      const u8 *order, unsigned int later)
{
	const struct gso_count was = gso_count(t);
	unsigned int n = batch->records, i;
	bool error = false;

	t->script = script;
	t->requests = 0;
	memset(t->req, 0, sizeof(t->req));
	for (i = 0; i < n; i++)
		if (script[i] == ACT_FAIL || script[i] == ACT_BUSY ||
		    script[i] == ACT_LATER_FAIL || script[i] == ACT_EARLY_FAIL)
			error = true;

	batch_submit(batch, cut, 1);
	if (t->requests != n)
		return "not a request for each record";

	for (i = 0; i < later; i++) {
		if (!gso_pending(t, &was))
			return "finished early";
		/* it was in the backlog */
		if (i % 2)
			aead_request_complete(t->req[order[i]], -EINPROGRESS);
		aead_request_complete(t->req[order[i]],
				      script[order[i]] == ACT_LATER_FAIL ?
				      -EIO : 0);
	}

	return gso_finished(t, &was, n, error) ? NULL : "not finished as due";
}

/* a provider that completes requests in every way and order that there is */
static void ovpn_gso_provider(struct kunit *test)
{
	struct ovpn_gso_cut start, cut;
	struct gso_test *t = test->priv;
	struct ovpn_gso_batch *batch;
	struct crypto_aead *saved, *tfm;
	u8 script[ORDER_MAX], order[ORDER_MAX];
	unsigned int n, i, j, k, later, total;
	const char *bad = NULL;
	struct sk_buff *skb;

	KUNIT_ASSERT_EQ(test, crypto_register_aead(&gso_provider), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test,
							gso_provider_unregister,
							NULL), 0);
	tfm = crypto_alloc_aead("ovpn-kunit", 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, tfm);
	KUNIT_EXPECT_EQ(test, crypto_aead_setkey(tfm, "key", 3), 0);
	saved = t->ks->encrypt;
	t->ks->encrypt = tfm;
	KUNIT_EXPECT_TRUE(test, ovpn_aead_is_async(t->ks->encrypt));

	for (n = 2; n <= ORDER_MAX && !bad; n++) {
		skb = ovpn_kunit_gso_skb(test, 50, 50 * n - 1);
		if (ovpn_gso_cut_start(&start, skb) != OVPN_BATCHED)
			bad = "cannot cut";
		for (total = 1, i = 0; i < n; i++)
			total *= ACTS;
		for (i = 0; i < total && !bad; i++) {
			later = 0;
			for (j = 0, k = i; j < n; j++, k /= ACTS) {
				script[j] = k % ACTS;
				if (script[j] == ACT_LATER ||
				    script[j] == ACT_LATER_FAIL)
					order[later++] = j;
			}
			do {
				cut = start;
				batch = batches_new(t->ks, &cut);
				if (!batch || batch->next) {
					batch_free(batch);
					bad = "not one batch";
					break;
				}
				gso_test_hold(t, batch);
				bad = gso_submit(t, batch, &cut, script, order,
						 later);
			} while (!bad && gso_next_order(order, later));
			cond_resched();
		}
		kfree_skb(skb);
	}

	t->ks->encrypt = saved;
	crypto_free_aead(tfm);
	if (bad)
		KUNIT_FAIL(test, "%s: acts %*ph, order %*ph", bad, ORDER_MAX,
			   script, later, order);
}

/* what leaves are the packets, in order and under consecutive IDs */
static void ovpn_gso_records(struct kunit *test)
{
	const unsigned int mss = 1348, packets = 50;
	struct ovpn_gso_batch *batch, *next;
	struct gso_test *t = test->priv;
	unsigned int room, len, off;
	struct ovpn_gso_cut cut;
	u32 op, id = 1000;
	u8 *want, *got;
	struct sk_buff *skb, *sent;
	void *request;

	if (ovpn_aead_is_async(t->ks->encrypt))
		kunit_skip(test, "the cipher is asynchronous here");

	skb = ovpn_kunit_gso_skb(test, mss, packets * mss - 300);
	KUNIT_ASSERT_EQ(test, ovpn_gso_cut_start(&cut, skb), OVPN_BATCHED);
	room = OVPN_RECORD_OVERHEAD + cut.hdr_len + cut.mss;
	want = kunit_kmalloc(test, room, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, want);
	got = kunit_kmalloc(test, room, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, got);
	request = kunit_kmalloc(test, ovpn_aead_record_size(t->ks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, request);

	batch = batches_new(t->ks, &cut);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	gso_test_hold(t, batch);
	t->keep = true;
	for (; batch; batch = next) {
		unsigned int records = batch->records;

		next = batch->next;
		batch_submit(batch, &cut, id);
		id += records;
	}
	KUNIT_EXPECT_EQ(test, skb_queue_len(&t->sent), 2);
	KUNIT_EXPECT_EQ(test, t->records, packets);
	KUNIT_EXPECT_FALSE(test, t->bad);
	KUNIT_EXPECT_EQ(test, gso_test_held(t), 0);
	KUNIT_EXPECT_EQ(test, cut.left, 0);

	/* the same once more, record by record */
	KUNIT_ASSERT_EQ(test, ovpn_gso_cut_start(&cut, skb), OVPN_BATCHED);
	op = ovpn_opcode_compose(OVPN_DATA_V2, t->ks->key_id, t->peer->tx_id);
	ovpn_aead_record_init(t->ks, request, NULL, NULL);
	id = 1000;
	skb_queue_walk(&t->sent, sent) {
		for (off = HEADERS; off < sent->len; off += room) {
			len = ovpn_gso_cut_next(&cut, want +
						OVPN_RECORD_OVERHEAD);
			KUNIT_EXPECT_EQ(test, ovpn_aead_record_encrypt(t->ks,
								       request,
								       want,
								       len, op,
								       id++),
					0);
			len += OVPN_RECORD_OVERHEAD;
			memset(got, 0, room);
			KUNIT_EXPECT_EQ(test, skb_copy_bits(sent, off, got,
							    len), 0);
			KUNIT_EXPECT_MEMEQ(test, got, want, len);
		}
	}
	KUNIT_EXPECT_EQ(test, id, 1000 + packets);
	kfree_skb(skb);
}

/* each record of a GSO packet has an ID of its own, one after the other */
static void ovpn_gso_ids(struct kunit *test)
{
	const unsigned int mss = 1348, packets = 50;
	struct gso_test *t = test->priv;
	struct sk_buff *skb, *sent;
	unsigned int room, off;
	bool consumed;
	__be32 id = 0;
	u32 next = 7;

	if (ovpn_aead_is_async(t->ks->encrypt))
		kunit_skip(test, "the cipher is asynchronous here");

	rcu_assign_pointer(t->peer->crypto.slots[0], t->ks);
	atomic_set(&t->ks->pid_xmit.seq_num, next);
	t->keep = true;
	skb = ovpn_kunit_gso_skb(test, mss, packets * mss);
	room = OVPN_RECORD_OVERHEAD + skb->len - (packets - 1) * mss;
	local_bh_disable();
	consumed = ovpn_gso_send(t->peer, skb);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, consumed);
	if (!consumed)
		kfree_skb(skb);

	/* more than one aggregate */
	KUNIT_EXPECT_GT(test, skb_queue_len(&t->sent), 1);
	skb_queue_walk(&t->sent, sent) {
		for (off = HEADERS; off < sent->len; off += room) {
			KUNIT_EXPECT_EQ(test,
					skb_copy_bits(sent,
						      off + OVPN_OPCODE_SIZE,
						      &id, sizeof(id)), 0);
			KUNIT_EXPECT_EQ(test, be32_to_cpu(id), next++);
		}
	}
	KUNIT_EXPECT_EQ(test, next, 7 + packets);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->ks->pid_xmit.seq_num), next);
}

/* the socket is charged for the aggregates, and for nothing in the end */
static void ovpn_gso_owner(struct kunit *test)
{
	struct ovpn_gso_batch *batches, *batch;
	struct gso_test *t = test->priv;
	unsigned int truesize = 0;
	struct ovpn_gso_cut cut;
	struct sk_buff *skb;
	struct sock *sk;

	sk = kunit_kzalloc(test, sizeof(struct udp6_sock), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sk);
	skb = ovpn_kunit_gso_skb(test, 1348, 50 * 1348);
	refcount_set(&sk->sk_wmem_alloc, 1 + skb->truesize);
	skb->sk = sk;
	skb->destructor = __sock_wfree;
	skb->mark = 7;
	skb->priority = 3;

	KUNIT_ASSERT_EQ(test, ovpn_gso_cut_start(&cut, skb), OVPN_BATCHED);
	batches = batches_new(t->ks, &cut);
	KUNIT_ASSERT_NOT_NULL(test, batches);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_wmem_alloc),
			1 + skb->truesize);
	batches_own(batches, skb);
	for (batch = batches; batch; batch = batch->next) {
		truesize += batch->skb->truesize;
		KUNIT_EXPECT_PTR_EQ(test, batch->skb->sk, sk);
		KUNIT_EXPECT_EQ(test, batch->skb->mark, 7);
		KUNIT_EXPECT_EQ(test, batch->skb->priority, 3);
	}
	KUNIT_EXPECT_NULL(test, skb->sk);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_wmem_alloc), 1 + truesize);
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_wmem_alloc), 1 + truesize);
	batch_free(batches);
	KUNIT_EXPECT_EQ(test, refcount_read(&sk->sk_wmem_alloc), 1);
}

/* send a GSO packet of two, expect an answer and what is counted for it */
static void gso_test_send(struct kunit *test, unsigned int mss,
			  void (*spoil)(struct sk_buff *skb),
			  enum ovpn_batch_stat stat)
{
	struct sk_buff *skb = ovpn_kunit_gso_skb(test, mss, 2 * mss);
	bool consumed, want = stat == OVPN_TX_BATCHES;
	struct gso_test *t = test->priv;
	u64 before[OVPN_BATCH_STATS], after[OVPN_BATCH_STATS];
	unsigned int len = skb->len;
	int i;

	if (spoil)
		spoil(skb);
	ovpn_batch_stats_get(t->ovpn->batch_stats, before);
	local_bh_disable();
	consumed = ovpn_gso_send(t->peer, skb);
	local_bh_enable();
	ovpn_batch_stats_get(t->ovpn->batch_stats, after);

	KUNIT_EXPECT_EQ(test, consumed, want);
	before[stat]++;
	if (want)
		before[OVPN_TX_BATCH_RECORDS] += 2;
	for (i = 0; i < OVPN_BATCH_STATS; i++)
		KUNIT_EXPECT_EQ_MSG(test, after[i], before[i], "counter %d", i);
	if (!consumed) {
		KUNIT_EXPECT_EQ(test, skb->len, len);
		KUNIT_EXPECT_EQ(test, refcount_read(&skb->users), 1);
		kfree_skb(skb);
	}
}

static void gso_spoil_type(struct sk_buff *skb)
{
	skb->encapsulation = 1;
}

static void gso_spoil_fraglist(struct sk_buff *skb)
{
	skb_shinfo(skb)->gso_type |= SKB_GSO_FRAGLIST;
}

/* without it nobody may use more IPv4 identifications than were set aside */
static void gso_spoil_df(struct sk_buff *skb)
{
	ip_hdr(skb)->frag_off = 0;
}

/* send a GSO packet of two that do not fit the MTU of 1500 */
static void gso_test_fitted(struct kunit *test, unsigned int mss)
{
	struct sk_buff *skb = ovpn_kunit_gso_skb(test, mss, 2 * mss);
	unsigned int records = DIV_ROUND_UP(2 * mss, 1408);
	u64 before[OVPN_BATCH_STATS], after[OVPN_BATCH_STATS];
	struct gso_test *t = test->priv;
	unsigned long sent = t->records;
	bool consumed;
	int i;

	ovpn_batch_stats_get(t->ovpn->batch_stats, before);
	local_bh_disable();
	consumed = ovpn_gso_send(t->peer, skb);
	local_bh_enable();
	ovpn_batch_stats_get(t->ovpn->batch_stats, after);

	KUNIT_EXPECT_TRUE(test, consumed);
	if (!consumed)
		kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, t->records, sent + records);
	before[OVPN_TX_BATCHES] += DIV_ROUND_UP(records, BATCH_MAX_BYTES /
							 1472);
	before[OVPN_TX_BATCH_RECORDS] += records;
	before[OVPN_TX_BATCH_FITTED]++;
	for (i = 0; i < OVPN_BATCH_STATS; i++)
		KUNIT_EXPECT_EQ_MSG(test, after[i], before[i], "counter %d", i);
}

/* each reason to leave a packet to the ordinary path, and that it is left */
static void ovpn_gso_reasons(struct kunit *test)
{
	struct gso_test *t = test->priv;
	struct ovpn_peer *peer = t->peer;
	struct ovpn_peer_stats_sum vpn, link;
	u64 sums[OVPN_BATCH_STATS];
	struct ovpn_bind *bind;

	if (ovpn_aead_is_async(t->ks->encrypt))
		kunit_skip(test, "the cipher is asynchronous here");

	gso_test_send(test, 1000, NULL, OVPN_TX_UNBATCHED_NO_KEY);

	rcu_assign_pointer(peer->crypto.slots[0], t->ks);
	gso_test_send(test, 1000, NULL, OVPN_TX_BATCHES);
	KUNIT_EXPECT_EQ(test, t->records, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&t->ks->pid_xmit.seq_num), 3);
	ovpn_peer_stats_get(&peer->vpn_stats, &vpn);
	ovpn_peer_stats_get(&peer->link_stats, &link);
	KUNIT_EXPECT_EQ(test, vpn.tx_packets, 2);
	KUNIT_EXPECT_EQ(test, vpn.tx_bytes, 2080);
	KUNIT_EXPECT_EQ(test, link.tx_packets, 2);
	KUNIT_EXPECT_EQ(test, link.tx_bytes, 2128);

	gso_test_send(test, 1000, gso_spoil_type, OVPN_TX_UNBATCHED_TYPE);
	gso_test_send(test, 1000, gso_spoil_fraglist,
		      OVPN_TX_UNBATCHED_FRAGLIST);
	/* the device's MTU is 1500, headers and overhead are 92 */
	gso_test_send(test, 1408, NULL, OVPN_TX_BATCHES);
	gso_test_send(test, 1409, gso_spoil_df, OVPN_TX_UNBATCHED_MTU);
	gso_test_fitted(test, 1409);
	gso_test_fitted(test, BATCH_MAX_ROOM - 63);
	t->ovpn->dev->mtu = IP_MAX_MTU;
	gso_test_send(test, BATCH_MAX_ROOM - 64, NULL, OVPN_TX_BATCHES);
	gso_test_send(test, BATCH_MAX_ROOM - 63, NULL, OVPN_TX_UNBATCHED_SIZE);
	t->ovpn->dev->mtu = ETH_DATA_LEN;

	t->sock.sk->sk_protocol = IPPROTO_TCP;
	gso_test_send(test, 1000, NULL, OVPN_TX_UNBATCHED_TRANSPORT);
	t->sock.sk->sk_protocol = IPPROTO_UDP;
	rcu_assign_pointer(peer->sock, NULL);
	gso_test_send(test, 1000, NULL, OVPN_TX_UNBATCHED_TRANSPORT);
	rcu_assign_pointer(peer->sock, &t->sock);
	bind = rcu_replace_pointer(peer->bind, NULL, true);
	gso_test_send(test, 1000, NULL, OVPN_TX_UNBATCHED_TRANSPORT);
	rcu_assign_pointer(peer->bind, bind);

	/* no reason took an ID or a reference, or sent something */
	KUNIT_EXPECT_EQ(test, atomic_read(&t->ks->pid_xmit.seq_num),
			1 + t->records);
	KUNIT_EXPECT_EQ(test, gso_test_held(t), 0);
	ovpn_batch_stats_get(t->ovpn->batch_stats, sums);
	KUNIT_EXPECT_EQ(test, sums[OVPN_TX_BATCH_RECORDS], t->records);

	/* the last two IDs; then one where there would have to be two */
	atomic_set(&t->ks->pid_xmit.seq_num, U32_MAX - 1);
	gso_test_send(test, 1000, NULL, OVPN_TX_BATCHES);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(peer->crypto.slots[0]),
			    t->ks);
	atomic_set(&t->ks->pid_xmit.seq_num, U32_MAX);
	gso_test_send(test, 1000, NULL, OVPN_TX_UNBATCHED_EXHAUSTED);
	/* that killed the key */
	KUNIT_EXPECT_NULL(test, rcu_access_pointer(peer->crypto.slots[0]));
	KUNIT_EXPECT_EQ(test, gso_test_held(t), 0);
	gso_test_send(test, 1000, NULL, OVPN_TX_UNBATCHED_NO_KEY);
	KUNIT_EXPECT_FALSE(test, t->bad);
}

static struct kunit_case ovpn_gso_cases[] = {
	KUNIT_CASE_PARAM(ovpn_gso_geometry, gso_geometry_gen_params),
	KUNIT_CASE(ovpn_gso_completion),
	KUNIT_CASE(ovpn_gso_provider),
	KUNIT_CASE(ovpn_gso_records),
	KUNIT_CASE(ovpn_gso_ids),
	KUNIT_CASE(ovpn_gso_owner),
	KUNIT_CASE(ovpn_gso_reasons),
	{}
};

static struct kunit_suite ovpn_gso_suite = {
	.name = "ovpn_gso",
	.init = gso_test_init,
	.exit = gso_test_exit,
	.test_cases = ovpn_gso_cases,
};

kunit_test_suite(ovpn_gso_suite);
