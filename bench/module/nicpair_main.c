// SPDX-License-Identifier: GPL-2.0
/* nicpair: two network devices back to back, with hardware segmentation
 *
 * Stands in for a pair of NICs where instructions are counted: what a driver
 * does is done and costs what it costs, what the hardware does is done in
 * nicpair_hw.c and its time accounted, to be taken out of the reading.
 *
 *	ip link add near type nicpair		makes near and nicpair0
 *
 *	 near						   nicpair0
 *	xmit --> tx ring --[hardware: cut, sum]--> rx ring --> NAPI, GRO
 *	NAPI, GRO <-- rx ring <--[hardware: cut, sum]-- tx ring <-- xmit
 *
 * Receive buffers follow mlx5, on whose ports the published results were
 * measured.  Where a frame with headroom and shared info fits into a page,
 * which it does at an MTU of 1500, the skb is built around the buffer (2 KiB
 * of a page-pool page): all of it is linear.  Beyond, or where the private flag
 * rx-split asks for it, up to 256 bytes are copied to a linear part and the
 * rest stays a page fragment, as in mlx5's striding receive queue.
 *
 * Like mlx5 both ends do flow control by default: where the far end has run
 * out of buffers the sender waits, its ring fills, and BQL or the full ring
 * stops the queue.  "ethtool -A DEV tx off" makes it lose the frames instead.
 *
 * Who frees an skb: xmit what it cannot describe; NAPI what the hardware has
 * sent, or lost; ndo_stop what is in the ring then.  Who frees a receive
 * buffer: whoever frees the skb that was built from it; NAPI if none was;
 * ndo_stop what is in the ring then.
 */

#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/prefetch.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/netdev_queues.h>
#include <net/page_pool/helpers.h>
#include <net/rtnetlink.h>

#include "nicpair.h"

#define NICPAIR_FEATURES (NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_TSO |	\
			  NETIF_F_TSO6 | NETIF_F_GSO_UDP_L4 |		\
			  NETIF_F_RXCSUM | NETIF_F_RXHASH)

static struct rtnl_link_ops nicpair_link_ops;

/* --- transmit ----------------------------------------------------------- */

static unsigned int nicpair_tx_room(const struct nicpair *np)
{
	return np->tx_size - (np->tx_posted - READ_ONCE(np->tx_cleaned));
}

/**
 * nicpair_describe - write the descriptor of an skb
 * @d: where to
 * @skb: what is to be sent
 *
 * Return: false if the hardware could not send that
 */
static bool nicpair_describe(struct nicpair_txd *d, struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	const skb_frag_t *frag;
	unsigned int i;

	d->skb = skb;
	d->job = NICPAIR_SEND;
	d->mss = 0;
	d->frames = 1;
	d->bytes = skb->len;

	if (skb_is_gso(skb)) {
		d->l3 = skb_network_offset(skb);
		d->l4 = skb_transport_offset(skb);
		d->no_csum = false;
		if (info->gso_type & SKB_GSO_UDP_L4) {
			d->job = NICPAIR_USO;
			d->hdr_len = d->l4 + sizeof(struct udphdr);
			/* a field of zero means this only where the stack
			 * has not left the sum to us
			 */
			if (skb->ip_summed != CHECKSUM_PARTIAL)
				d->no_csum = !udp_hdr(skb)->check;
		} else if (info->gso_type & (SKB_GSO_TCPV4 | SKB_GSO_TCPV6)) {
			d->job = NICPAIR_TSO;
			d->hdr_len = skb_tcp_all_headers(skb);
		} else {
			return false;
		}
		if (d->hdr_len > skb_headlen(skb) || d->hdr_len >= skb->len)
			return false;
		d->mss = info->gso_size;
		d->frames = DIV_ROUND_UP(skb->len - d->hdr_len, d->mss);
		d->bytes += (d->frames - 1) * d->hdr_len;
	} else if (skb->ip_summed == CHECKSUM_PARTIAL) {
		d->job = NICPAIR_CSUM;
		d->l4 = skb_checksum_start_offset(skb);
		d->csum_at = d->l4 + skb->csum_offset;
	}

	d->seg[0].addr = skb->data;
	d->seg[0].len = skb_headlen(skb);
	for (i = 0; i < info->nr_frags; i++) {
		frag = &info->frags[i];
		d->seg[i + 1].addr = skb_frag_address(frag);
		d->seg[i + 1].len = skb_frag_size(frag);
	}
	d->segs = info->nr_frags + 1;
	return true;
}

static netdev_tx_t nicpair_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct netdev_queue *txq = netdev_get_tx_queue(dev, 0);
	struct nicpair *np = netdev_priv(dev);
	bool ring = !netdev_xmit_more();
	struct nicpair_txd *d;

	if (unlikely(!nicpair_tx_room(np))) {
		/* the queue was stopped before this could be */
		netif_tx_stop_queue(txq);
		return NETDEV_TX_BUSY;
	}

	d = &np->txd[np->tx_posted & (np->tx_size - 1)];
	if (unlikely(!nicpair_describe(d, skb))) {
		dev_core_stats_tx_dropped_inc(dev);
		dev_kfree_skb_any(skb);
		goto out;
	}

	skb_tx_timestamp(skb);
	dev_sw_netstats_tx_add(dev, d->frames, d->bytes);
	/* before the hardware can see it, for it may be completed at once */
	ring = __netdev_tx_sent_queue(txq, d->bytes, !ring);
	/* pairs with the acquire in nicpair_hw_run(): from here on neither the
	 * skb nor the descriptor is ours
	 */
	smp_store_release(&np->tx_posted, np->tx_posted + 1);

	if (!netif_txq_maybe_stop(txq, nicpair_tx_room(np), 1,
				  np->tx_size / 2)) {
		WRITE_ONCE(np->tx_ring_stops, np->tx_ring_stops + 1);
		ring = true;
	}
	if (test_bit(__QUEUE_STATE_STACK_XOFF, &txq->state))
		WRITE_ONCE(np->tx_bql_stops, np->tx_bql_stops + 1);
out:
	if (ring)
		nicpair_hw_run(np);
	return NETDEV_TX_OK;
}

/* free what was sent */
static void nicpair_clean(struct nicpair *np, int budget)
{
	struct netdev_queue *txq = netdev_get_tx_queue(np->dev, 0);
	unsigned int cleaned = np->tx_cleaned;
	unsigned int packets = 0, bytes = 0;
	struct nicpair_txd *d;
	unsigned int sent;

	/* pairs with the release in nicpair_hw_run() */
	sent = smp_load_acquire(&np->tx_sent);
	for (; cleaned != sent; cleaned++) {
		d = &np->txd[cleaned & (np->tx_size - 1)];
		bytes += d->bytes;
		packets++;
		napi_consume_skb(d->skb, budget);
	}
	WRITE_ONCE(np->tx_cleaned, cleaned);
	netif_txq_completed_wake(txq, packets, bytes, nicpair_tx_room(np),
				 np->tx_size / 2);
}

/* --- receive ------------------------------------------------------------ */

/**
 * nicpair_refill - give the hardware a buffer for each that came back
 * @np: the receiving end
 * @gfp: how to allocate
 *
 * Return: false if memory ran out
 */
static bool nicpair_refill(struct nicpair *np, gfp_t gfp)
{
	unsigned int posted = np->rx_posted;
	struct nicpair_rxd *r;
	bool ok = true;

	while (posted - np->rx_taken < np->rx_size) {
		r = &np->rxd[posted & (np->rx_size - 1)];
		r->page = page_pool_alloc_frag(np->pool, &r->offset,
					       np->rx_stride, gfp);
		if (unlikely(!r->page)) {
			np->rx_alloc_failed++;
			ok = false;
			break;
		}
		posted++;
	}
	if (posted == np->rx_posted)
		return ok;

	/* pairs with the acquire in has_buffer() */
	smp_store_release(&np->rx_posted, posted);
	/* pairs with the barrier in has_buffer() */
	smp_mb();
	return ok;
}

/* the skb around, or beside, a received frame; takes the buffer if it can */
static struct sk_buff *nicpair_build_skb(struct nicpair *np,
					 const struct nicpair_rxd *r)
{
	void *buffer = page_address(r->page) + r->offset;
	unsigned int head, len = r->len;
	struct sk_buff *skb;

	net_prefetch(buffer + np->rx_headroom);
	if (np->rx_linear) {
		skb = napi_build_skb(buffer,
				     SKB_DATA_ALIGN(np->rx_headroom + len) +
				     SKB_DATA_ALIGN(sizeof(struct skb_shared_info)));
		if (unlikely(!skb))
			return NULL;
		skb_mark_for_recycle(skb);
		skb_reserve(skb, np->rx_headroom);
		skb_put(skb, len);
		return skb;
	}

	skb = napi_alloc_skb(&np->napi, ALIGN(NICPAIR_RX_HEAD, sizeof(long)));
	if (unlikely(!skb))
		return NULL;
	head = min(len, NICPAIR_RX_HEAD);
	memcpy(__skb_put(skb, head), buffer + np->rx_headroom, head);
	skb_mark_for_recycle(skb);
	if (len > head)
		skb_add_rx_frag(skb, 0, r->page,
				r->offset + np->rx_headroom + head,
				len - head, np->rx_stride);
	else
		page_pool_put_full_page(np->pool, r->page, true);
	return skb;
}

/* take received frames out of the ring; returns how many */
static int nicpair_rx(struct nicpair *np, int budget)
{
	struct net_device *dev = np->dev;
	struct nicpair_rxd *r;
	struct sk_buff *skb;
	unsigned int filled;
	int done = 0;

	/* pairs with the release in send_frames() */
	filled = smp_load_acquire(&np->rx_filled);
	for (; done < budget && np->rx_taken != filled; done++) {
		r = &np->rxd[np->rx_taken++ & (np->rx_size - 1)];
		skb = nicpair_build_skb(np, r);
		if (unlikely(!skb)) {
			page_pool_put_full_page(np->pool, r->page, true);
			np->rx_alloc_failed++;
			dev_core_stats_rx_dropped_inc(dev);
			continue;
		}
		dev_sw_netstats_rx_add(dev, r->len);
		skb_record_rx_queue(skb, 0);
		if (dev->features & NETIF_F_RXHASH)
			skb_set_hash(skb, r->hash,
				     r->l4_hash ? PKT_HASH_TYPE_L4 :
						  PKT_HASH_TYPE_L3);
		if (r->csum_ok && (dev->features & NETIF_F_RXCSUM))
			skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->protocol = eth_type_trans(skb, dev);
		napi_gro_receive(&np->napi, skb);
	}
	return done;
}

static int nicpair_poll(struct napi_struct *napi, int budget)
{
	struct nicpair *np = container_of(napi, struct nicpair, napi);
	bool refilled;
	int done;

	nicpair_clean(np, budget);
	/* netpoll wants transmission cleaned, and nothing else */
	if (!budget)
		return 0;

	done = nicpair_rx(np, budget);
	refilled = nicpair_refill(np, GFP_ATOMIC | __GFP_NOWARN);
	if (READ_ONCE(np->peer->hw.paused))
		nicpair_hw_run(np->peer);
	/* without memory there is nobody else who would try again */
	if (!refilled)
		return budget;
	if (done == budget || !napi_complete_done(napi, done))
		return done;

	/* interrupts on again; what came before that has not raised one */
	smp_store_mb(np->armed, true);
	if (np->rx_taken != READ_ONCE(np->rx_filled) ||
	    np->tx_cleaned != READ_ONCE(np->tx_sent))
		if (xchg(&np->armed, false))
			napi_schedule(napi);
	return done;
}

/* --- up and down -------------------------------------------------------- */

/* layout of the receive buffers, as the MTU wants it */
static unsigned int nicpair_rx_layout(struct nicpair *np)
{
	unsigned int linear;

	np->rx_max = READ_ONCE(np->dev->mtu) + VLAN_ETH_HLEN + VLAN_HLEN;
	np->rx_headroom = NET_SKB_PAD + NET_IP_ALIGN;
	linear = SKB_DATA_ALIGN(np->rx_headroom + np->rx_max) +
		 SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	np->rx_linear = linear <= PAGE_SIZE && !np->rx_split;
	if (np->rx_linear) {
		np->rx_stride = roundup_pow_of_two(linear);
		return 0;
	}
	np->rx_headroom = NET_IP_ALIGN;
	np->rx_stride = roundup_pow_of_two(np->rx_headroom +
					   max(np->rx_max, ETH_ZLEN));
	return get_order(np->rx_stride);
}

/* give back the buffers that hold no skb, and the ring */
static void nicpair_free_rx(struct nicpair *np)
{
	struct nicpair_rxd *r;

	for (; np->rx_taken != np->rx_posted; np->rx_taken++) {
		r = &np->rxd[np->rx_taken & (np->rx_size - 1)];
		page_pool_put_full_page(np->pool, r->page, false);
	}
	page_pool_destroy(np->pool);
	kvfree(np->rxd);
	np->pool = NULL;
	np->rxd = NULL;
}

static int nicpair_open(struct net_device *dev)
{
	struct nicpair *np = netdev_priv(dev);
	struct nicpair *peer = np->peer;
	struct page_pool_params params = {
		.pool_size = np->rx_size,
		.nid = NUMA_NO_NODE,
		.napi = &np->napi,
	};
	int err;

	params.order = nicpair_rx_layout(np);
	np->rx_posted = 0;
	np->rx_filled = 0;
	np->rx_taken = 0;
	np->tx_posted = 0;
	np->tx_sent = 0;
	np->tx_cleaned = 0;
	np->hw.frame = 0;
	np->hw.paused = false;

	np->txd = kvcalloc(np->tx_size, sizeof(*np->txd), GFP_KERNEL);
	if (!np->txd)
		return -ENOMEM;
	np->rxd = kvcalloc(np->rx_size, sizeof(*np->rxd), GFP_KERNEL);
	if (!np->rxd) {
		err = -ENOMEM;
		goto free_txd;
	}
	np->pool = page_pool_create(&params);
	if (IS_ERR(np->pool)) {
		err = PTR_ERR(np->pool);
		np->pool = NULL;
		goto free_rxd;
	}
	if (!nicpair_refill(np, GFP_KERNEL)) {
		err = -ENOMEM;
		goto free_rx;
	}

	netif_napi_add(dev, &np->napi, nicpair_poll);
	napi_enable(&np->napi);
	np->armed = true;

	spin_lock_bh(&np->hw.lock);
	np->hw.on = true;
	spin_unlock_bh(&np->hw.lock);
	spin_lock_bh(&peer->hw.lock);
	np->hw_rx_on = true;
	spin_unlock_bh(&peer->hw.lock);

	if (netif_running(peer->dev)) {
		netif_carrier_on(dev);
		netif_carrier_on(peer->dev);
	}
	netif_tx_start_all_queues(dev);
	return 0;

free_rx:
	nicpair_free_rx(np);
	goto free_txd;
free_rxd:
	kvfree(np->rxd);
	np->rxd = NULL;
free_txd:
	kvfree(np->txd);
	np->txd = NULL;
	return err;
}

static int nicpair_stop(struct net_device *dev)
{
	struct nicpair *np = netdev_priv(dev);
	struct nicpair *peer = np->peer;
	struct nicpair_txd *d;

	netif_carrier_off(dev);
	netif_carrier_off(peer->dev);
	netif_tx_disable(dev);

	/* after this the hardware of neither direction touches our rings */
	spin_lock_bh(&np->hw.lock);
	np->hw.on = false;
	spin_unlock_bh(&np->hw.lock);
	spin_lock_bh(&peer->hw.lock);
	np->hw_rx_on = false;
	spin_unlock_bh(&peer->hw.lock);

	/* a peer that waits for our buffers waits no more */
	local_bh_disable();
	nicpair_hw_run(peer);
	local_bh_enable();

	napi_disable(&np->napi);
	netif_napi_del(&np->napi);

	for (; np->tx_cleaned != np->tx_posted; np->tx_cleaned++) {
		d = &np->txd[np->tx_cleaned & (np->tx_size - 1)];
		dev_core_stats_tx_dropped_inc(dev);
		kfree_skb(d->skb);
	}
	netdev_tx_reset_queue(netdev_get_tx_queue(dev, 0));
	kvfree(np->txd);
	np->txd = NULL;
	nicpair_free_rx(np);
	return 0;
}

static int nicpair_change_mtu(struct net_device *dev, int mtu)
{
	/* the buffers are made for it */
	if (netif_running(dev))
		return -EBUSY;
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

static int nicpair_get_iflink(const struct net_device *dev)
{
	const struct nicpair *np = netdev_priv(dev);

	return READ_ONCE(np->peer->dev->ifindex);
}

static const struct net_device_ops nicpair_netdev_ops = {
	.ndo_open		= nicpair_open,
	.ndo_stop		= nicpair_stop,
	.ndo_start_xmit		= nicpair_xmit,
	.ndo_change_mtu		= nicpair_change_mtu,
	.ndo_get_iflink		= nicpair_get_iflink,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

/* --- the pair ----------------------------------------------------------- */

static void nicpair_setup(struct net_device *dev)
{
	struct nicpair *np = netdev_priv(dev);

	ether_setup(dev);
	dev->netdev_ops = &nicpair_netdev_ops;
	dev->ethtool_ops = &nicpair_ethtool_ops;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	dev->hw_features = NICPAIR_FEATURES;
	dev->features = NICPAIR_FEATURES | NETIF_F_HIGHDMA;
	dev->vlan_features = dev->features;
	dev->hw_enc_features = dev->features;
	dev->max_mtu = NICPAIR_MTU_MAX;
	dev->needs_free_netdev = true;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;

	np->dev = dev;
	np->tx_size = NICPAIR_TX_RING;
	np->rx_size = NICPAIR_RX_RING;
	np->pause_rx = true;
	np->pause_tx = true;
	spin_lock_init(&np->hw.lock);
}

static int nicpair_newlink(struct net_device *dev,
			   struct rtnl_newlink_params *params,
			   struct netlink_ext_ack *extack)
{
	struct net *net = rtnl_newlink_peer_net(params);
	struct nicpair *np = netdev_priv(dev);
	struct nlattr **tb = params->tb;
	struct net_device *peer;
	struct nicpair *peer_np;
	int err;

	peer = rtnl_create_link(net, NICPAIR_NAME "%d", NET_NAME_ENUM,
				&nicpair_link_ops, tb, extack);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	eth_hw_addr_random(peer);
	if (!tb[IFLA_ADDRESS])
		eth_hw_addr_random(dev);

	peer_np = netdev_priv(peer);
	peer_np->peer = np;
	np->peer = peer_np;

	netif_carrier_off(peer);
	err = register_netdevice(peer);
	if (err) {
		free_netdev(peer);
		return err;
	}
	err = rtnl_configure_link(peer, NULL, 0, NULL);
	if (err)
		goto unregister;

	netif_carrier_off(dev);
	err = register_netdevice(dev);
	if (err)
		goto unregister;
	return 0;

unregister:
	unregister_netdevice(peer);
	return err;
}

static void nicpair_dellink(struct net_device *dev, struct list_head *head)
{
	struct nicpair *np = netdev_priv(dev);

	/* one list, so that neither is freed before both are closed */
	unregister_netdevice_queue(dev, head);
	unregister_netdevice_queue(np->peer->dev, head);
}

static struct net *nicpair_get_link_net(const struct net_device *dev)
{
	const struct nicpair *np = netdev_priv(dev);

	return dev_net(np->peer->dev);
}

static struct rtnl_link_ops nicpair_link_ops = {
	.kind		= NICPAIR_NAME,
	.priv_size	= sizeof(struct nicpair),
	.setup		= nicpair_setup,
	.newlink	= nicpair_newlink,
	.dellink	= nicpair_dellink,
	.get_link_net	= nicpair_get_link_net,
};

static int __init nicpair_init(void)
{
	nicpair_hw_calibrate();
	return rtnl_link_register(&nicpair_link_ops);
}

static void __exit nicpair_exit(void)
{
	rtnl_link_unregister(&nicpair_link_ops);
}

module_init(nicpair_init);
module_exit(nicpair_exit);

MODULE_DESCRIPTION("Pair of network devices with hardware segmentation, for the bench");
MODULE_LICENSE("GPL");
MODULE_ALIAS_RTNL_LINK(NICPAIR_NAME);
