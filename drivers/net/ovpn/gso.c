// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: transmit batches
 *
 * A GSO packet becomes one UDP GSO packet (the aggregate) of as many records.
 * Each packet is cut off straight into its record and encrypted there, while
 * it is in the cache; routing, headers and queueing happen once for all.
 *
 *	GSO packet	| IP TCP | payload ................................ |
 *	aggregate	| record 0 | record 1 | ... | record n-1 |
 *	record		| opcode word | packet ID | tag | IP TCP | payload |
 *
 * The aggregate's records lie in blocks of pages, none of them across the edge
 * of a block: every record is one piece of memory for the AEAD.
 *
 * Who owns what. A batch owns its aggregate and one reference each of the peer
 * and the key slot. It is itself held by the submitter and by each request that
 * is not complete; whoever lets go last, on whatever CPU, sends or drops the
 * aggregate, puts both references and frees the batch. Neither queue nor worker
 * nor waiter is involved. The GSO packet stays the submitter's; nothing refers
 * to it once it is cut up.
 */

#include <crypto/aead.h>
#include <linux/bottom_half.h>
#include <linux/dma-mapping.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <net/udp.h>

#include "ovpnpriv.h"
#include "batch_stats.h"
#include "crypto.h"
#include "crypto_aead.h"
#include "gso.h"
#include "gso_cut.h"
#include "io.h"
#include "peer.h"
#include "pktid.h"
#include "socket.h"
#include "stats.h"
#include "udp.h"

/* what the devices below may want in front of the records */
#define BATCH_HEADROOM		(MAX_HEADER + sizeof(struct ipv6hdr) + \
				 sizeof(struct udphdr))
/* records of an aggregate: with all headers it is no larger than any device
 * takes that takes GSO packets
 */
#define BATCH_MAX_BYTES		(GSO_LEGACY_MAX_SIZE - 1 - BATCH_HEADROOM)
/* a record lies in one block of pages, and a batch has two at least */
#define BATCH_MAX_ROOM		min_t(unsigned int, BATCH_MAX_BYTES / 2, \
				      PAGE_SIZE << PAGE_ALLOC_COSTLY_ORDER)

/**
 * struct ovpn_gso_batch - records on their way into one aggregate
 * @next: the batch behind this one, until it is submitted
 * @peer: destination, one reference
 * @ks: key of all records, one reference
 * @skb: the aggregate, all of its size fixed before the first request
 * @pending: requests that are not complete, and the submitter
 * @error: a request failed, which is the end of the aggregate
 * @records: records in the aggregate
 * @room: length of every record but the last in bytes
 * @requests: memory of requests, one for each record or one for all
 */
struct ovpn_gso_batch {
	struct ovpn_gso_batch *next;
	struct ovpn_peer *peer;
	struct ovpn_crypto_key_slot *ks;
	struct sk_buff *skb;
	atomic_t pending;
	int error;
	unsigned int records;
	unsigned int room;
	u8 requests[] __aligned(CRYPTO_MINALIGN);
};

/* hand the aggregate to UDP, which consumes it */
static int batch_transmit(struct ovpn_gso_batch *batch)
{
	struct ovpn_peer *peer = batch->peer;
	unsigned int len = batch->skb->len;
	struct ovpn_socket *sock;
	int ret = 0;

	rcu_read_lock();
	sock = rcu_dereference(peer->sock);
	if (unlikely(!sock || sock->sk->sk_protocol != IPPROTO_UDP)) {
		ovpn_dev_dstats_tx_dropped(peer->ovpn->dev, batch->records);
		kfree_skb(batch->skb);
		ret = -ENOTCONN;
	} else if (likely(batch->records > 1)) {
		ret = ovpn_udp_send_batch(peer, sock->sk, batch->skb);
	} else {
		ovpn_udp_send_skb(peer, sock->sk, batch->skb);
	}
	rcu_read_unlock();
	if (unlikely(ret))
		return ret;

	ovpn_peer_stats_add_tx(&peer->link_stats, len, batch->records);
	ovpn_peer_stamp(&peer->last_sent);
	return 0;
}

/* nobody refers to the batch any more */
static void batch_finish(struct ovpn_gso_batch *batch)
{
	struct ovpn_priv *ovpn = batch->peer->ovpn;
	int err = batch->error;

	if (unlikely(err)) {
		ovpn_dev_dstats_tx_dropped(ovpn->dev, batch->records);
		kfree_skb(batch->skb);
	} else {
		err = batch_transmit(batch);
	}

	if (unlikely(err)) {
		ovpn_batch_stats_add(ovpn->batch_stats, OVPN_TX_BATCH_DROPS,
				     batch->records);
	} else {
		ovpn_batch_stats_add(ovpn->batch_stats, OVPN_TX_BATCHES, 1);
		ovpn_batch_stats_add(ovpn->batch_stats, OVPN_TX_BATCH_RECORDS,
				     batch->records);
	}

	ovpn_crypto_key_slot_put(batch->ks);
	ovpn_peer_put(batch->peer);
	kfree(batch);
}

/* let go of a batch n times; it may be gone afterwards */
static void batch_put(struct ovpn_gso_batch *batch, int n)
{
	if (atomic_sub_and_test(n, &batch->pending))
		batch_finish(batch);
}

/* completion of a request, in any context that the AEAD provider likes */
static void batch_done(void *data, int err)
{
	struct ovpn_gso_batch *batch = data;

	/* out of the provider's backlog: it has yet to be processed */
	if (unlikely(err == -EINPROGRESS))
		return;

	if (unlikely(err))
		WRITE_ONCE(batch->error, err);
	batch_put(batch, 1);
}

/* free a batch that has never been submitted */
static void batch_free(struct ovpn_gso_batch *batch)
{
	struct ovpn_gso_batch *next;

	for (; batch; batch = next) {
		next = batch->next;
		/* no packet, just memory so far */
		consume_skb(batch->skb);
		if (batch->ks)
			ovpn_crypto_key_slot_put(batch->ks);
		if (batch->peer)
			ovpn_peer_put(batch->peer);
		kfree(batch);
	}
}

/* add blocks of pages for the batch's records, the last one of last bytes */
static int batch_add_pages(struct ovpn_gso_batch *batch, unsigned int last)
{
	unsigned int left = batch->records, fit, order, size;
	struct sk_buff *skb = batch->skb;
	struct page *page;
	int i;

	for (i = 0; left; i++) {
		if (unlikely(i == MAX_SKB_FRAGS))
			return -EMSGSIZE;

		order = min_t(unsigned int, get_order(left * batch->room),
			      PAGE_ALLOC_COSTLY_ORDER);
		do {
			/* the reserves are for those who cannot do with less */
			page = alloc_pages(GFP_ATOMIC | __GFP_NOWARN |
					   __GFP_COMP |
					   (order ? __GFP_NOMEMALLOC : 0),
					   order);
		} while (unlikely(!page) && order-- > 0);

		if (unlikely(!page))
			return -ENOMEM;

		fit = min_t(unsigned int, left,
			    (PAGE_SIZE << order) / batch->room);
		if (unlikely(!fit)) {
			__free_pages(page, order);
			return -ENOMEM;
		}

		left -= fit;
		size = fit * batch->room;
		if (!left)
			size -= batch->room - last;
		skb_add_rx_frag(skb, i, page, 0, size, PAGE_SIZE << order);
	}

	return 0;
}

/**
 * batch_new - allocate a batch and its aggregate
 * @ks: key slot
 * @from: GSO packet whose metadata the aggregate inherits
 * @records: records in the aggregate
 * @room: length of every record but the last in bytes
 * @last: length of the last record in bytes
 *
 * Return: a batch without references, or NULL
 */
static struct ovpn_gso_batch *batch_new(struct ovpn_crypto_key_slot *ks,
					const struct sk_buff *from,
					unsigned int records, unsigned int room,
					unsigned int last)
{
	unsigned int requests = ovpn_aead_is_async(ks->encrypt) ? records : 1;
	struct ovpn_gso_batch *batch;
	struct sk_buff *skb;

	batch = kmalloc(struct_size(batch, requests,
				    requests * ovpn_aead_record_size(ks)),
			GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!batch))
		return NULL;

	batch->next = NULL;
	batch->peer = NULL;
	batch->ks = NULL;
	batch->error = 0;
	batch->records = records;
	batch->room = room;
	atomic_set(&batch->pending, records + 1);

	skb = alloc_skb(BATCH_HEADROOM, GFP_ATOMIC | __GFP_NOWARN);
	batch->skb = skb;
	if (unlikely(!skb))
		goto free;

	/* as if it were a segment of the GSO packet, with headers of its own */
	skb_copy_header(skb, from);
	skb_reserve(skb, BATCH_HEADROOM);
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb_reset_transport_header(skb);
	skb_reset_mac_len(skb);
	skb->encapsulation = 0;
	skb_gso_reset(skb);
	if (likely(records > 1)) {
		skb_shinfo(skb)->gso_size = room;
		skb_shinfo(skb)->gso_segs = records;
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	}
	/* the tunnel code accounts to the device what is behind the inner
	 * network header: the packets less what a record has around them
	 */
	BUILD_BUG_ON(UDP_MAX_SEGMENTS * OVPN_RECORD_OVERHEAD + BATCH_HEADROOM >
		     U16_MAX);
	skb_set_inner_network_header(skb, records * OVPN_RECORD_OVERHEAD);

	if (likely(!batch_add_pages(batch, last)))
		return batch;
free:
	batch_free(batch);
	return NULL;
}

/* allocate a list of batches for everything that is to be cut off */
static struct ovpn_gso_batch *batches_new(struct ovpn_crypto_key_slot *ks,
					  const struct ovpn_gso_cut *cut)
{
	unsigned int room = OVPN_RECORD_OVERHEAD + cut->hdr_len + cut->mss;
	unsigned int last = room - (cut->packets * cut->mss - cut->left);
	unsigned int left = cut->packets, parts, records;
	struct ovpn_gso_batch *head = NULL, **tail = &head;

	parts = DIV_ROUND_UP(left, min_t(unsigned int, UDP_MAX_SEGMENTS,
					 BATCH_MAX_BYTES / room));

	/* a large one and a small one are more work than two of one size */
	for (; left; parts--) {
		records = DIV_ROUND_UP(left, parts);
		left -= records;
		*tail = batch_new(ks, cut->skb, records, room,
				  left ? room : last);
		if (unlikely(!*tail)) {
			batch_free(head);
			return NULL;
		}
		/* only what comes first may leave by another queue */
		if (head != *tail)
			(*tail)->skb->ooo_okay = 0;
		tail = &(*tail)->next;
	}

	return head;
}

/**
 * batches_own - let the socket pay for the aggregates instead of the GSO packet
 * @batch: list of batches
 * @skb: GSO packet
 *
 * TCP small queues and the back-pressure of queueing disciplines work by what
 * is charged to the socket until the aggregate leaves its queue.
 */
static void batches_own(struct ovpn_gso_batch *batch, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	int delta = -skb->truesize;

	if (!sk || !is_skb_wmem(skb))
		return;

	for (; batch; batch = batch->next) {
		batch->skb->sk = sk;
		batch->skb->destructor = skb->destructor;
		delta += batch->skb->truesize;
	}

	skb->sk = NULL;
	skb->destructor = NULL;
	/* a reference of zero is not possible: the aggregates are charged */
	if (delta >= 0)
		refcount_add(delta, &sk->sk_wmem_alloc);
	else
		WARN_ON_ONCE(refcount_sub_and_test(-delta, &sk->sk_wmem_alloc));
}

/* tell who waits for a time stamp when the packet with the last byte leaves */
static void batches_timestamp(struct ovpn_gso_batch *batch,
			      const struct sk_buff *skb)
{
	u8 flags = skb_shinfo(skb)->tx_flags & SKBTX_ANY_TSTAMP;

	if (likely(!flags))
		return;

	while (batch->next)
		batch = batch->next;
	skb_shinfo(batch->skb)->tx_flags |= flags;
	skb_shinfo(batch->skb)->tskey = skb_shinfo(skb)->tskey;
}

/**
 * batch_submit - cut off, encrypt and let go of a batch
 * @batch: the batch, not to be touched afterwards
 * @cut: where its packets come from
 * @id: packet ID of the first record
 *
 * An error is the end of the whole aggregate: a provider whose queue is full
 * costs all its records. The rest is encrypted all the same, since the next
 * batch starts behind it.
 */
static void batch_submit(struct ovpn_gso_batch *batch, struct ovpn_gso_cut *cut,
			 u32 id)
{
	struct ovpn_crypto_key_slot *ks = batch->ks;
	const struct sk_buff *skb = batch->skb;
	u8 *request = batch->requests, *record;
	unsigned int off, len, size, step;
	int i, ret, complete = 1;
	u32 op;

	/* one request serves all records if it is complete on return */
	step = ovpn_aead_is_async(ks->encrypt) ? ovpn_aead_record_size(ks) : 0;
	op = ovpn_opcode_compose(OVPN_DATA_V2, ks->key_id, batch->peer->tx_id);

	if (!step)
		ovpn_aead_record_init(ks, request, batch_done, batch);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		record = skb_frag_address(&skb_shinfo(skb)->frags[i]);
		size = skb_frag_size(&skb_shinfo(skb)->frags[i]);

		for (off = 0; off < size; off += batch->room) {
			len = ovpn_gso_cut_next(cut, record + off +
						OVPN_RECORD_OVERHEAD);
			if (step)
				ovpn_aead_record_init(ks, request, batch_done,
						      batch);
			ret = ovpn_aead_record_encrypt(ks, request,
						       record + off, len, op,
						       id++);
			request += step;
			if (ret == -EINPROGRESS)
				continue;
			if (unlikely(ret))
				WRITE_ONCE(batch->error, ret);
			complete++;
		}
	}

	batch_put(batch, complete);
}

/**
 * ovpn_gso_send - send a GSO packet as one UDP GSO packet of records
 * @peer: destination, referenced by the caller
 * @skb: GSO packet, not shared, without dst, skb->data at its IP header of
 *	 which the fixed part is linear
 *
 * What cannot be done this way is counted, and @skb left as it was but for
 * what pskb_may_pull() does to it: the caller sends it packet by packet.
 * Nothing has been sent then, so that order is kept.
 *
 * Context: BH disabled.
 * Return: true if @skb was consumed, false if it is still the caller's
 */
bool ovpn_gso_send(struct ovpn_peer *peer, struct sk_buff *skb)
{
	struct ovpn_gso_batch *batches = NULL, *batch, *next;
	struct ovpn_priv *ovpn = peer->ovpn;
	struct ovpn_crypto_key_slot *ks;
	enum ovpn_batch_stat reason;
	unsigned int room, fit = 0;
	struct ovpn_gso_cut cut;
	bool fitted = false;
	u32 id;

	reason = ovpn_gso_cut_start(&cut, skb);
	if (reason != OVPN_BATCHED)
		goto unbatched;

	room = OVPN_RECORD_OVERHEAD + cut.hdr_len + cut.mss;
	reason = ovpn_udp_batch_check(peer, room, &fit);
	if (unlikely(reason == OVPN_TX_UNBATCHED_MTU) &&
	    fit > OVPN_RECORD_OVERHEAD &&
	    ovpn_gso_cut_fit(&cut, fit - OVPN_RECORD_OVERHEAD)) {
		fitted = true;
		room = fit;
	} else if (reason != OVPN_BATCHED) {
		goto unbatched;
	}

	reason = OVPN_TX_UNBATCHED_SIZE;
	if (unlikely(room > BATCH_MAX_ROOM))
		goto unbatched;

	reason = OVPN_TX_UNBATCHED_NO_KEY;
	ks = ovpn_crypto_key_slot_primary(&peer->crypto);
	if (unlikely(!ks))
		goto unbatched;

	/* The records' edges share cache lines. A device must not write to one
	 * while the CPU does, if the caches do not follow.
	 */
	reason = OVPN_TX_UNBATCHED_DMA;
	if (unlikely(ovpn_aead_is_async(ks->encrypt) &&
		     dma_get_cache_alignment() > 1))
		goto put_ks;

	reason = OVPN_TX_UNBATCHED_MEMORY;
	batches = batches_new(ks, &cut);
	if (unlikely(!batches))
		goto put_ks;

	for (batch = batches; batch; batch = batch->next) {
		/* cannot fail, since there is a reference of each here */
		if (likely(ovpn_peer_hold(peer)))
			batch->peer = peer;
		if (likely(ovpn_crypto_key_slot_hold(ks)))
			batch->ks = ks;
		if (WARN_ON_ONCE(!batch->peer || !batch->ks))
			goto put_ks;
	}

	/* nothing can go wrong from here on, and no packet ID is lost before */
	reason = OVPN_TX_UNBATCHED_EXHAUSTED;
	if (unlikely(ovpn_pktid_xmit_range(&ks->pid_xmit, cut.packets, &id))) {
		ovpn_key_exhausted(peer, ks);
		goto put_ks;
	}

	ovpn_peer_stats_add_tx(&peer->vpn_stats,
			       skb->len + (cut.packets - 1) * cut.hdr_len,
			       cut.packets);
	if (fitted)
		ovpn_batch_stats_add(ovpn->batch_stats, OVPN_TX_BATCH_FITTED,
				     1);
	batches_own(batches, skb);
	batches_timestamp(batches, skb);

	for (batch = batches; batch; batch = next) {
		unsigned int records = batch->records;

		next = batch->next;
		batch_submit(batch, &cut, id);
		id += records;
	}

	ovpn_crypto_key_slot_put(ks);
	consume_skb(skb);
	return true;

put_ks:
	batch_free(batches);
	ovpn_crypto_key_slot_put(ks);
unbatched:
	ovpn_batch_stats_add(ovpn->batch_stats, reason, 1);
	return false;
}

#ifdef CONFIG_OVPN_KUNIT_TEST
#include "gso_kunit.c"
#endif
