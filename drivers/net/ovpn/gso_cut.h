/* SPDX-License-Identifier: GPL-2.0-only */
/*  OpenVPN data channel offload: cut a GSO packet into packets */

#ifndef _NET_OVPN_GSO_CUT_H_
#define _NET_OVPN_GSO_CUT_H_

#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "batch_stats.h"

/* an IPv4 and a TCP header, both with all the options that they can have */
#define OVPN_GSO_CUT_HDR_MAX	(60 + 60)

/**
 * struct ovpn_gso_cut - where the cutting of a GSO packet stands
 * @skb: the GSO packet, only read
 * @hdr_len: length of IP and transport header in bytes
 * @l3_len: length of the IP header in bytes
 * @mss: payload of every packet but the last in bytes
 * @offset: where the payload of the next packet starts in @skb
 * @left: payload that is not cut off yet, in bytes
 * @packets: how many packets @skb makes
 * @seq: TCP sequence number of the next packet
 * @id: IPv4 identification of the next packet
 * @id_step: what @id grows by
 * @last_flags: TCP flags that only the last packet has
 * @keep_cwr: all packets have the CWR flag of @skb, not only the first
 * @hdr: the headers of the next packet
 */
struct ovpn_gso_cut {
	const struct sk_buff *skb;
	unsigned int hdr_len;
	unsigned int l3_len;
	unsigned int mss;
	unsigned int offset;
	unsigned int left;
	unsigned int packets;
	u32 seq;
	u16 id;
	u16 id_step;
	__be32 last_flags;
	bool keep_cwr;
	u8 hdr[OVPN_GSO_CUT_HDR_MAX] __aligned(4);
};

enum ovpn_batch_stat ovpn_gso_cut_start(struct ovpn_gso_cut *cut,
					struct sk_buff *skb);
bool ovpn_gso_cut_fit(struct ovpn_gso_cut *cut, unsigned int len);
unsigned int ovpn_gso_cut_next(struct ovpn_gso_cut *cut, u8 *to);

#endif /* _NET_OVPN_GSO_CUT_H_ */
