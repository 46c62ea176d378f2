// SPDX-License-Identifier: GPL-2.0
/* nicpair: what the hardware of a NIC does
 *
 * Cuts super-packets into frames, finishes and checks checksums, hashes, and
 * writes the frames into the receive buffers that the far end has posted.  It
 * reads descriptors and writes buffers, as DMA does: it allocates nothing and
 * frees nothing.  All of it runs in one measured section with interrupts off,
 * so that no tick is taken for hardware; a tick that falls into the section is
 * served right after it, as software.
 */

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/tcp.h>
#include <linux/timekeeping.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>

#include "nicpair.h"

/* the price of reading the clock once */
static u64 clock_ns;

/**
 * nicpair_hw_calibrate - measure what measuring costs
 *
 * The difference of two readings with nothing between them.  A section is
 * longer by this much than what it measures, and as much again lies outside
 * its two readings.
 */
void nicpair_hw_calibrate(void)
{
	unsigned long flags;
	u64 start, ns;
	int i;

	clock_ns = U64_MAX;
	for (i = 0; i < 64; i++) {
		local_irq_save(flags);
		start = ktime_get_ns();
		ns = ktime_get_ns() - start;
		local_irq_restore(flags);
		clock_ns = min(clock_ns, ns);
	}
}

/* copy len bytes from offset on of what a descriptor describes */
static void copy_out(const struct nicpair_txd *d, unsigned int offset, u8 *to,
		     unsigned int len)
{
	const struct nicpair_seg *s = d->seg;
	unsigned int n;

	while (offset >= s->len) {
		offset -= s->len;
		s++;
	}
	while (len) {
		n = min(len, s->len - offset);
		memcpy(to, s->addr + offset, n);
		to += n;
		len -= n;
		offset = 0;
		s++;
	}
}

/* pseudo header of what starts at offset l4 and fills the frame */
static __wsum pseudo(const u8 *frame, unsigned int l3, unsigned int len, u8 proto)
{
	const struct ipv6hdr *ip6 = (const void *)(frame + l3);
	const struct iphdr *ip = (const void *)(frame + l3);

	if (ip->version == 4)
		return csum_tcpudp_nofold(ip->saddr, ip->daddr, len, proto, 0);
	return csum_unfold(~csum_ipv6_magic(&ip6->saddr, &ip6->daddr, len,
					    proto, 0));
}

/* make the i-th frame's headers out of the super-packet's */
static void fit_headers(const struct nicpair_txd *d, unsigned int i, u8 *frame,
			unsigned int len)
{
	struct ipv6hdr *ip6 = (void *)(frame + d->l3);
	struct iphdr *ip = (void *)(frame + d->l3);
	struct tcphdr *th = (void *)(frame + d->l4);
	struct udphdr *uh = (void *)(frame + d->l4);
	unsigned int l4_len = len - d->l4;
	bool last = i + 1 == d->frames;
	__wsum sum;

	if (ip->version == 4) {
		ip->tot_len = htons(len - d->l3);
		ip->id = htons(ntohs(ip->id) + i);
		ip_send_check(ip);
	} else {
		ip6->payload_len = htons(len - d->l3 - sizeof(*ip6));
	}

	if (d->job == NICPAIR_TSO) {
		th->seq = htonl(ntohl(th->seq) + i * d->mss);
		if (!last) {
			th->fin = 0;
			th->psh = 0;
		}
		if (i)
			th->cwr = 0;
		th->check = 0;
		sum = csum_partial(th, l4_len,
				   pseudo(frame, d->l3, l4_len, IPPROTO_TCP));
		th->check = csum_fold(sum);
		return;
	}

	uh->len = htons(l4_len);
	uh->check = 0;
	if (d->no_csum)
		return;
	sum = csum_partial(uh, l4_len,
			   pseudo(frame, d->l3, l4_len, IPPROTO_UDP));
	uh->check = csum_fold(sum) ?: CSUM_MANGLED_0;
}

/* length of the i-th frame */
static unsigned int frame_len(const struct nicpair_txd *d, unsigned int i)
{
	if (!d->mss)
		return d->bytes;
	if (i + 1 < d->frames)
		return d->hdr_len + d->mss;
	/* all the others are of full length */
	return d->bytes - i * (d->hdr_len + d->mss);
}

/* write the i-th frame, complete, and return its length on the wire */
static unsigned int write_frame(const struct nicpair_txd *d, unsigned int i,
				u8 *frame)
{
	unsigned int len = frame_len(d, i);
	__sum16 *check;

	switch (d->job) {
	case NICPAIR_TSO:
	case NICPAIR_USO:
		copy_out(d, 0, frame, d->hdr_len);
		copy_out(d, d->hdr_len + i * d->mss, frame + d->hdr_len,
			 len - d->hdr_len);
		fit_headers(d, i, frame, len);
		break;
	case NICPAIR_CSUM:
		copy_out(d, 0, frame, len);
		/* the stack has put the pseudo header's sum into the field */
		check = (__sum16 *)(frame + d->csum_at);
		*check = csum_fold(csum_partial(frame + d->l4, len - d->l4,
						0)) ?: CSUM_MANGLED_0;
		break;
	case NICPAIR_SEND:
		copy_out(d, 0, frame, len);
		break;
	}
	if (len < ETH_ZLEN) {
		memset(frame + len, 0, ETH_ZLEN - len);
		len = ETH_ZLEN;
	}
	return len;
}

/* whether the checksum of len bytes of TCP or UDP at offset l4 is right */
static bool check_l4(const u8 *frame, unsigned int l3, unsigned int l4,
		     unsigned int len, u8 proto)
{
	const struct udphdr *uh = (const void *)(frame + l4);

	if (proto == IPPROTO_UDP) {
		if (len < sizeof(*uh) || ntohs(uh->len) < sizeof(*uh) ||
		    ntohs(uh->len) > len)
			return false;
		/* nothing that could be checked */
		if (!uh->check)
			return false;
		len = ntohs(uh->len);
	} else if (len < sizeof(struct tcphdr)) {
		return false;
	}
	return !csum_fold(csum_partial(frame + l4, len,
				       pseudo(frame, l3, len, proto)));
}

/* what the receiving hardware finds out about a frame */
static void look_at_frame(struct nicpair_rxd *r, const u8 *frame)
{
	const struct ethhdr *eth = (const void *)frame;
	unsigned int l3 = ETH_HLEN, l4, end;
	__be16 type = eth->h_proto;
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;
	bool whole = true;
	u8 proto;

	r->hash = 0;
	r->l4_hash = false;
	r->csum_ok = false;

	while (eth_type_vlan(type) && l3 + VLAN_HLEN <= r->len) {
		type = ((const struct vlan_hdr *)(frame + l3))->
			h_vlan_encapsulated_proto;
		l3 += VLAN_HLEN;
	}

	if (type == htons(ETH_P_IP)) {
		ip = (const void *)(frame + l3);
		l4 = l3 + sizeof(*ip);
		if (l4 > r->len || ip->version != 4 || ip->ihl < 5)
			return;
		l4 = l3 + ip->ihl * 4;
		end = l3 + ntohs(ip->tot_len);
		proto = ip->protocol;
		whole = !ip_is_fragment(ip);
		r->hash = jhash_2words((__force u32)ip->saddr,
				       (__force u32)ip->daddr, 0);
	} else if (type == htons(ETH_P_IPV6)) {
		ip6 = (const void *)(frame + l3);
		l4 = l3 + sizeof(*ip6);
		if (l4 > r->len || ip6->version != 6)
			return;
		end = l4 + ntohs(ip6->payload_len);
		proto = ip6->nexthdr;
		r->hash = jhash2((__force u32 *)ip6->saddr.s6_addr32, 8, 0);
	} else {
		return;
	}

	if (end > r->len || !whole || l4 + 4 > end)
		return;
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return;
	r->hash = jhash_2words(r->hash, *(const u32 *)(frame + l4), 0);
	r->l4_hash = true;
	r->csum_ok = check_l4(frame, l3, l4, end - l4, proto);
}

/* Whether the far end has a buffer.  Where it has not and asks the sender to
 * wait, it looks at the mark after it has posted more.
 */
static bool has_buffer(struct nicpair *np, struct nicpair *far)
{
	struct nicpair_hw *hw = &np->hw;

	/* pairs with the release in nicpair_refill() */
	if (far->rx_filled != smp_load_acquire(&far->rx_posted))
		return true;
	if (!READ_ONCE(np->pause_rx) || !READ_ONCE(far->pause_tx))
		return false;

	WRITE_ONCE(hw->paused, true);
	/* pairs with the barrier in nicpair_refill(): one of us sees what the
	 * other has written
	 */
	smp_mb();
	/* pairs with the release in nicpair_refill() */
	if (far->rx_filled == smp_load_acquire(&far->rx_posted)) {
		hw->pauses++;
		return false;
	}
	WRITE_ONCE(hw->paused, false);
	return true;
}

/* send what is left of a descriptor; false if the far end asks to wait */
static bool send_frames(struct nicpair *np, struct nicpair *far,
			const struct nicpair_txd *d)
{
	struct nicpair_hw *hw = &np->hw;
	struct nicpair_rxd *r;
	u8 *frame;

	if (!far->hw_rx_on) {
		hw->no_link += d->frames - hw->frame;
		return true;
	}
	/* the first is the longest */
	if (frame_len(d, 0) > far->rx_max) {
		far->rx_oversize += d->frames;
		return true;
	}
	for (; hw->frame < d->frames; hw->frame++) {
		hw->frames++;
		if (!has_buffer(np, far)) {
			if (hw->paused) {
				hw->frames--;
				return false;
			}
			far->rx_overruns++;
			continue;
		}
		r = &far->rxd[far->rx_filled & (far->rx_size - 1)];
		frame = page_address(r->page) + r->offset + far->rx_headroom;
		r->len = write_frame(d, hw->frame, frame);
		look_at_frame(r, frame);
		far->rx_frames++;
		/* pairs with the acquire in nicpair_rx() */
		smp_store_release(&far->rx_filled, far->rx_filled + 1);
	}
	return true;
}

/* A NAPI that is being taken down ignores it.  The memory is there: see the
 * peer pointer.
 */
static void interrupt(struct nicpair *np)
{
	/* orders the ring before the mark; pairs with nicpair_poll() */
	if (xchg(&np->armed, false))
		napi_schedule(&np->napi);
}

/**
 * nicpair_hw_run - let the hardware send what has been posted
 * @np: the sending end
 *
 * The doorbell: xmit rings it after posting descriptors, and the far end when
 * it has new buffers for a sender that waits.  Called with bottom halves off.
 */
void nicpair_hw_run(struct nicpair *np)
{
	struct nicpair *far = np->peer;
	struct nicpair_hw *hw = &np->hw;
	unsigned int sent;
	bool tx_irq, rx_irq;
	unsigned long flags;
	u64 start, received;

	spin_lock(&hw->lock);
	if (!hw->on) {
		spin_unlock(&hw->lock);
		return;
	}

	local_irq_save(flags);
	start = ktime_get_ns();
	sent = np->tx_sent;
	received = far->rx_frames;
	WRITE_ONCE(hw->paused, false);
	/* pairs with the release in nicpair_xmit() */
	while (np->tx_sent != smp_load_acquire(&np->tx_posted)) {
		const struct nicpair_txd *d;

		d = &np->txd[np->tx_sent & (np->tx_size - 1)];
		if (!send_frames(np, far, d))
			break;
		hw->frame = 0;
		hw->super += d->mss != 0;
		/* pairs with the acquire in nicpair_clean(); from here on the
		 * descriptor is xmit's
		 */
		smp_store_release(&np->tx_sent, np->tx_sent + 1);
	}
	tx_irq = sent != np->tx_sent;
	rx_irq = received != far->rx_frames;
	hw->ns += ktime_get_ns() - start + clock_ns;
	hw->sections++;
	local_irq_restore(flags);
	spin_unlock(&hw->lock);

	if (rx_irq)
		interrupt(far);
	if (tx_irq)
		interrupt(np);
}
