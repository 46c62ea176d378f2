// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: receive batches
 *
 * GRO chains records that came one after the other on one flow: the first one
 * is the head of a frag list of the others, whole as they were on the wire but
 * for their headers, which remain in the headroom. The chain climbs the stack
 * as one packet and is taken apart by the socket's owner, or by anybody else on
 * whose way it comes: it looks like any UDP frag list, which segmentation turns
 * back into the original datagrams.
 *
 * Who owns what. A head owns the records of its list, unless it was cloned:
 * clones share the list. ovpn_gro_recv() makes head and records private before
 * it takes them off, and owns each of them from then on until it is dropped or
 * delivered.
 */

#include <linux/if_vlan.h>
#include <linux/log2.h>
#include <linux/netdevice.h>
#include <linux/prefetch.h>
#include <linux/skbuff.h>
#include <net/addrconf.h>
#include <net/gro.h>
#include <net/route.h>
#include <net/udp.h>

#include "ovpnpriv.h"
#include "batch_stats.h"
#include "crypto.h"
#include "crypto_aead.h"
#include "gro.h"
#include "io.h"
#include "peer.h"
#include "pktid.h"
#include "proto.h"
#include "skb.h"
#include "stats.h"
#include "udp.h"

/* as many records as UDP's own GRO takes datagrams, and NAPI packets at once */
#define GRO_MAX_RECORDS		64

/* Fragments are not held by GRO, and would overtake what is. For so many
 * jiffies after some have come nothing is. That is longer than GRO holds
 * anything, unless a device's gro_flush_timeout says otherwise.
 */
#define GRO_PAUSE		(HZ / 50 + 1)

#define GRO_TUNNEL_TYPES	(SKB_GSO_UDP_TUNNEL | SKB_GSO_UDP_TUNNEL_CSUM)

/* Is it a record that others may join or that may join others? Keepalive
 * messages are none, they would end every batch.
 */
static bool gro_is_record(const struct sk_buff *skb, __be32 op,
			  unsigned int len)
{
	return !NAPI_GRO_CB(skb)->flush && !skb_is_gso(skb) &&
	       FIELD_GET(OVPN_OPCODE_PKTTYPE_MASK, be32_to_cpu(op)) ==
			OVPN_DATA_V2 &&
	       len > OVPN_RECORD_OVERHEAD + OVPN_KEEPALIVE_SIZE;
}

/* Has a record of this peer come in fragments, just now? */
static bool gro_is_paused(const struct ovpn_socket *sock,
			  struct ovpn_gro_hint *hint)
{
	unsigned long seen = READ_ONCE(hint->fragments_seen);

	if (likely(!seen))
		return false;

	if (!time_after(jiffies, seen + GRO_PAUSE)) {
		ovpn_batch_stats_add(sock->ovpn->batch_stats,
				     OVPN_RX_UNBATCHED_FRAGMENTS, 1);
		return true;
	}

	/* Before jiffies come round. A fragment that comes at this moment may
	 * be forgotten, and what follows overtake it.
	 */
	WRITE_ONCE(hint->fragments_seen, 0);
	return false;
}

/**
 * ovpn_gro_pause - hold no records of a peer for a moment
 * @peer: the peer
 * @skb: authentic record that came in fragments, skb->data at its opcode word
 *
 * It is noted at the socket that the peer is sent to from. Records that come to
 * another one of the device, of a peer that is just moving there, are held.
 *
 * Context: any; takes the RCU read lock.
 */
void ovpn_gro_pause(struct ovpn_peer *peer, const struct sk_buff *skb)
{
	struct ovpn_socket *sock;

	rcu_read_lock();
	sock = rcu_dereference(peer->sock);
	if (sock)
		WRITE_ONCE(ovpn_gro_hint(sock, skb->data)->fragments_seen,
			   jiffies | 1);
	rcu_read_unlock();
}

/* A socket is found for any packet with its port, be it on its way to somebody
 * else: what has to be forwarded is better left alone. It is asked when a
 * second record comes: those that come alone do not pay for the answer.
 */
static bool gro_is_local(const struct sk_buff *skb)
{
	const struct ipv6hdr *ip6h = skb_gro_network_header(skb);
	const struct iphdr *iph = skb_gro_network_header(skb);
	struct net *net = dev_net_rcu(skb->dev);

	/* in the table of the VRF that the device itself is in, if any */
	if (iph->version == 4)
		return inet_addr_type_dev_table(net, skb->dev, iph->daddr) ==
			RTN_LOCAL;

	return IS_ENABLED(CONFIG_IPV6) &&
	       ipv6_chk_addr_and_flags(net, &ip6h->daddr, skb->dev, true, 0,
				       IFA_F_TENTATIVE);
}

/* the sum over one datagram says nothing about a chain, but it was right */
static void gro_settle_csum(struct sk_buff *skb)
{
	if (skb->ip_summed == CHECKSUM_COMPLETE) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = 0;
	}
}

/* is p a chain of ours, or may it become one? */
static bool gro_is_ours(const struct sk_buff *p, unsigned int off)
{
	return NAPI_GRO_CB(p)->is_flist &&
	       skb_headlen(p) >= off + OVPN_OPCODE_SIZE &&
	       (NAPI_GRO_CB(p)->count == 1 ||
		skb_shinfo(p)->gso_type & GRO_TUNNEL_TYPES);
}

/* what speaks against skb as the next record of the chain p, whose first one
 * has len2 bytes: OVPN_BATCHED if nothing does
 */
static enum ovpn_batch_stat gro_check(struct sk_buff *p, struct sk_buff *skb,
				      const struct udphdr *uh,
				      const struct udphdr *uh2,
				      unsigned int len, unsigned int len2)
{
	/* opcode words, behind the headers */
	if (*(__be32 *)(uh + 1) != *(__be32 *)(uh2 + 1))
		return OVPN_RX_BATCH_END_KEY;

	if (len > len2)
		return OVPN_RX_BATCH_END_LONG;

	/* the first as skb_gro_receive_list() sees it, with all headers */
	if (p->len + skb->len >= GSO_LEGACY_MAX_SIZE ||
	    p->len + len > netif_get_gro_max_size(p->dev, p))
		return OVPN_RX_BATCH_END_FULL;

	if (skb->ip_summed != p->ip_summed ||
	    skb->csum_level != p->csum_level ||
	    gro_receive_network_flush(uh, uh2, p))
		return OVPN_RX_BATCH_END_HEADER;

	return OVPN_BATCHED;
}

/* Count why the chain p, or the record that it is so far, takes no more. Most
 * end because NAPI has nothing more, which is not counted.
 */
static void gro_end(const struct ovpn_socket *sock, const struct sk_buff *p,
		    enum ovpn_batch_stat why)
{
	if (sock && NAPI_GRO_CB(p)->count > 1)
		ovpn_batch_stats_add(sock->ovpn->batch_stats, why, 1);
}

/* Is it worth while to hold the first record of a chain? Whoever answers a
 * request, or talks rarely, sends records that come alone: holding them costs
 * time, and nobody ever comes. Which one is tried is in the packet ID, behind
 * the opcode word.
 */
static bool gro_is_hopeless(const struct ovpn_gro_hint *hint, const __be32 *op)
{
	return READ_ONCE(hint->lone_records) >= OVPN_GRO_LONE &&
	       be32_to_cpu(op[1]) % OVPN_GRO_PROBE;
}

/* make skb the last record of the chain p, whose first one has len bytes */
static int gro_join(struct sk_buff *p, struct sk_buff *skb, unsigned int len,
		    bool csum)
{
	int ret;

	if (unlikely(!pskb_may_pull(skb, skb_gro_offset(skb) +
					 OVPN_RECORD_OVERHEAD)))
		return -ENOMEM;

	if (NAPI_GRO_CB(p)->count == 1) {
		/* a clone, a tap's for example, must not get the list */
		if (unlikely(skb_unclone(p, GFP_ATOMIC)))
			return -ENOMEM;
		/* veth leaves what the packet within the record was */
		skb_shinfo(p)->gso_type = 0;
	}

	/* segmentation starts from there */
	skb_set_network_header(skb, skb_gro_receive_network_offset(skb));
	ret = skb_gro_receive_list(p, skb);
	if (unlikely(ret))
		return ret;

	skb_shinfo(p)->gso_size = len;
	/* a tunnel's socket takes it whole, see udp_unexpected_gso() */
	skb_shinfo(p)->gso_type |= csum ? SKB_GSO_UDP_TUNNEL_CSUM :
					  SKB_GSO_UDP_TUNNEL;
	/* constant IPv4 identification, which segmentation has to keep */
	if (NAPI_GRO_CB(p)->ip_fixedid & 1)
		skb_shinfo(p)->gso_type |= SKB_GSO_TCP_FIXEDID;

	return 0;
}

/**
 * ovpn_gro_receive - chain records of one flow
 * @sk: socket that they are for
 * @head: packets that GRO holds
 * @skb: packet, GRO's offset behind its UDP header, whose ports and whether
 *	 there is a checksum have been compared
 *
 * Records join if they have the same opcode word, that is key and peer, the
 * same checksum state and IP headers that segmentation can restore. A shorter
 * one is the last. Whatever else comes along on the flow makes what is held
 * leave first, so that order is kept. Where records come alone anyway, most are
 * not held.
 *
 * UDP completes the chain as a plain frag list and does not call back: it looks
 * at is_flist and, for not having seen a tunnel, encap_mark.
 *
 * Context: NAPI poll, RCU read lock held.
 * Return: packet that has to leave now, or NULL
 */
struct sk_buff *ovpn_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb)
{
	unsigned int off = skb_gro_offset(skb), len = skb_gro_len(skb), len2;
	struct ovpn_socket *sock = ovpn_udp_gro_socket(sk);
	struct sk_buff *p, *pp = NULL;
	const struct udphdr *uh, *uh2;
	struct ovpn_gro_hint *hint;
	enum ovpn_batch_stat why;
	bool record;
	__be32 *op;

	/* all that will have to be linear, lest it is pulled piece by piece */
	op = skb_gro_header(skb, off + OVPN_RECORD_OVERHEAD, off);
	hint = op && sock ? ovpn_gro_hint(sock, op) : NULL;
	record = hint && gro_is_record(skb, *op, len) &&
		 !gro_is_paused(sock, hint);
	if (record) {
		/* what it carries is not looked into: no tunnel for GRO */
		NAPI_GRO_CB(skb)->encap_mark = 0;
		gro_settle_csum(skb);
	}
	uh = op ? (void *)op - sizeof(*uh) : NULL;

	list_for_each_entry(p, head, list) {
		if (!NAPI_GRO_CB(p)->same_flow)
			continue;

		pp = p;
		if (!gro_is_ours(p, off))
			break;

		if (!record) {
			gro_end(sock, p, OVPN_RX_BATCH_END_OTHER);
			break;
		}

		uh2 = (void *)p->data + off - sizeof(*uh2);
		len2 = udp_get_len_short(uh2) - sizeof(*uh2);
		why = gro_check(p, skb, uh, uh2, len, len2);
		if (why != OVPN_BATCHED) {
			gro_end(sock, p, why);
			break;
		}

		if (NAPI_GRO_CB(p)->count == 1 && !gro_is_local(skb))
			break;

		if (unlikely(gro_join(p, skb, len2, uh->check))) {
			NAPI_GRO_CB(skb)->flush = 1;
			return p;
		}
		if (unlikely(READ_ONCE(hint->lone_records)))
			WRITE_ONCE(hint->lone_records, 0);

		if (len < len2)
			gro_end(sock, p, OVPN_RX_BATCH_END_SHORT);
		else if (NAPI_GRO_CB(p)->count == GRO_MAX_RECORDS)
			gro_end(sock, p, OVPN_RX_BATCH_END_FULL);
		else
			pp = NULL;
		return pp;
	}

	/* the first of a chain, or none at all */
	if (!record || (!pp && gro_is_hopeless(hint, op))) {
		NAPI_GRO_CB(skb)->flush = 1;
		return pp;
	}

	/* the next one finds its opcode word linear */
	NAPI_GRO_CB(skb)->is_flist = 1;
	skb_gro_pull(skb, OVPN_RECORD_OVERHEAD);

	return pp;
}

/**
 * ovpn_gro_is_batch - is it a chain that ovpn_gro_receive() made?
 * @skb: packet that came to a socket
 *
 * That there is a frag list means nothing: IP reassembly makes them, too.
 *
 * Return: whether it is
 */
bool ovpn_gro_is_batch(const struct sk_buff *skb)
{
	return skb_is_gso(skb) && !skb->encapsulation &&
	       skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST &&
	       skb_shinfo(skb)->gso_type & GRO_TUNNEL_TYPES;
}

/**
 * ovpn_gro_is_whole - is a chain still what ovpn_gro_receive() made?
 * @skb: chain, skb->data at its UDP header
 *
 * Whoever makes a packet linear, or pulls a part of it, does not ask what it is
 * made of.
 *
 * Return: whether head and list are the records
 */
bool ovpn_gro_is_whole(const struct sk_buff *skb)
{
	return skb_has_frag_list(skb) &&
	       skb_pagelen(skb) - sizeof(struct udphdr) ==
			skb_shinfo(skb)->gso_size;
}

/* a record has what the stack found out about the chain that it was in */
static void gro_adopt(struct sk_buff *child, const struct sk_buff *head)
{
	child->dev = head->dev;
	child->skb_iif = head->skb_iif;
	child->protocol = head->protocol;
	child->priority = head->priority;
	child->mark = head->mark;
	child->encapsulation = 0;
	__vlan_hwaccel_clear_tag(child);
}

/* Take a chain apart into private records, in order. Those that memory is
 * missing for are dropped and left out; return how many.
 */
static unsigned int gro_detach(struct sk_buff *skb,
			       struct sk_buff_head *records)
{
	struct sk_buff *next, *child, *copy;
	unsigned int dropped = 0;

	/* a clone of the head has the same list, and must keep it */
	if (unlikely(skb_unclone(skb, GFP_ATOMIC))) {
		dropped = skb_shinfo(skb)->gso_segs;
		kfree_skb(skb);
		return dropped;
	}

	next = skb_shinfo(skb)->frag_list;
	skb_shinfo(skb)->frag_list = NULL;
	skb_gso_reset(skb);
	__skb_queue_tail(records, skb);

	while ((child = next)) {
		next = child->next;
		skb->len -= child->len;
		skb->data_len -= child->len;
		skb->truesize -= child->truesize;

		if (unlikely(skb_shared(child))) {
			copy = skb_clone(child, GFP_ATOMIC);
			consume_skb(child);
			child = copy;
			if (unlikely(!child)) {
				dropped++;
				continue;
			}
		}

		skb_mark_not_on_list(child);
		gro_adopt(child, skb);
		__skb_queue_tail(records, child);
	}

	return dropped;
}

/* what decryption is going to read and write first */
static void gro_prefetch(const struct sk_buff_head *records,
			 const struct sk_buff *skb)
{
	if (!skb_queue_is_last(records, skb))
		skb = skb_queue_next(records, skb);
	if (!skb_queue_is_last(records, skb))
		prefetchw(skb_queue_next(records, skb)->data);
}

/* decrypt with one request after the other, and drop what fails */
static void gro_decrypt(struct ovpn_peer *peer, struct ovpn_crypto_key_slot *ks,
			struct sk_buff_head *records, struct ovpn_rx *rx)
{
	struct sk_buff *skb, *next;
	void *tmp;
	int ret;

	/* without it, each record takes memory of its own */
	tmp = kmalloc(ovpn_aead_decrypt_size(ks), GFP_ATOMIC | __GFP_NOWARN);

	skb_queue_walk_safe(records, skb, next) {
		gro_prefetch(records, skb);

		ret = ovpn_aead_decrypt(peer, ks, skb, tmp);
		/* this provider does not do so */
		if (WARN_ON_ONCE(ret == -EINPROGRESS)) {
			__skb_unlink(skb, records);
			tmp = NULL;
			continue;
		}
		ovpn_aead_decrypt_done(skb, ret);
		if (unlikely(ret < 0)) {
			__skb_unlink(skb, records);
			kfree_skb(skb);
			rx->dropped++;
		}
	}

	kfree(tmp);
}

/* drop replays; return whether one of the others is the newest of its key */
static bool gro_check_ids(struct ovpn_peer *peer,
			  struct ovpn_crypto_key_slot *ks,
			  struct sk_buff_head *records, struct ovpn_rx *rx)
{
	struct sk_buff_head replays;
	struct sk_buff *skb, *next;
	bool newest = false;
	int ret, err = 0;

	__skb_queue_head_init(&replays);
	spin_lock_bh(&ks->pid_recv.lock);
	skb_queue_walk_safe(records, skb, next) {
		ret = __ovpn_pktid_recv(&ks->pid_recv, ovpn_pktid_from_skb(skb),
					0);
		if (likely(ret >= 0)) {
			newest |= !ret;
			continue;
		}

		err = ret;
		__skb_unlink(skb, records);
		__skb_queue_tail(&replays, skb);
	}
	spin_unlock_bh(&ks->pid_recv.lock);

	if (unlikely(err)) {
		ovpn_rx_replay(peer, err);
		rx->dropped += skb_queue_len(&replays);
		__skb_queue_purge(&replays);
	}

	return newest;
}

/* the provider may be through with a record on another CPU, later */
static void gro_recv_async(struct ovpn_peer *peer,
			   struct ovpn_crypto_key_slot *ks,
			   struct sk_buff_head *records, struct ovpn_rx *rx)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(records))) {
		/* cannot fail, since there is a reference of each here */
		if (WARN_ON_ONCE(!ovpn_peer_hold(peer)))
			goto drop;
		if (WARN_ON_ONCE(!ovpn_crypto_key_slot_hold(ks))) {
			ovpn_peer_put(peer);
			goto drop;
		}

		/* GRO takes no fragments */
		ovpn_skb_cb(skb)->fragmented = false;
		ovpn_decrypt_post(skb, ovpn_aead_decrypt(peer, ks, skb, NULL));
		continue;
drop:
		kfree_skb(skb);
		rx->dropped++;
	}
}

/* which counter is for chains of so many records? They stand in a row. */
static enum ovpn_batch_stat gro_size_class(unsigned int count)
{
	return OVPN_RX_BATCH_SIZE_2 + clamp(ilog2(count | 1), 1, 5) - 1;
}

/**
 * ovpn_gro_recv - decrypt the records of a chain and deliver what is in them
 * @peer: peer they come from; the caller's reference is put
 * @skb: chain, skb->data at the first record; consumed
 *
 * What is the same for all records is done once: key lookup, replay window
 * lock, endpoint, counters. A record that is not authentic costs only itself.
 *
 * Context: BH disabled, RCU read lock held.
 */
void ovpn_gro_recv(struct ovpn_peer *peer, struct sk_buff *skb)
{
	unsigned int count = skb_shinfo(skb)->gso_segs;
	struct ovpn_priv *ovpn = peer->ovpn;
	struct ovpn_crypto_key_slot *ks;
	struct sk_buff_head records;
	struct ovpn_rx rx = {};
	bool newest;
	u8 key_id;

	DEBUG_NET_WARN_ON_ONCE(!in_softirq());

	ovpn_peer_stats_add_rx(&peer->link_stats, skb->len, count);
	ovpn_batch_stats_add(ovpn->batch_stats, OVPN_RX_BATCHES, 1);
	ovpn_batch_stats_add(ovpn->batch_stats, gro_size_class(count), 1);
	ovpn_batch_stats_add(ovpn->batch_stats, OVPN_RX_BATCH_RECORDS, count);

	key_id = ovpn_key_id_from_skb(skb);
	ks = ovpn_crypto_key_id_to_slot(&peer->crypto, key_id);
	if (unlikely(!ks)) {
		net_info_ratelimited("%s: no available key for peer %u, key-id: %u\n",
				     netdev_name(ovpn->dev), peer->id, key_id);
		ovpn_dev_dstats_rx_dropped(ovpn->dev, count);
		kfree_skb(skb);
		goto put_peer;
	}

	__skb_queue_head_init(&records);
	rx.dropped = gro_detach(skb, &records);

	if (unlikely(ovpn_aead_is_async(ks->decrypt))) {
		gro_recv_async(peer, ks, &records, &rx);
	} else {
		gro_decrypt(peer, ks, &records, &rx);
		newest = gro_check_ids(peer, ks, &records, &rx);
		if (likely(!skb_queue_empty(&records)))
			ovpn_rx_alive(peer, skb_peek(&records), newest);
		while ((skb = __skb_dequeue(&records)))
			ovpn_decrypt_deliver(peer, skb, &rx);
	}
	ovpn_rx_account(peer, &rx);

	ovpn_crypto_key_slot_put(ks);
put_peer:
	ovpn_peer_put(peer);
}

#ifdef CONFIG_OVPN_KUNIT_TEST
#include "gro_kunit.c"
#endif
