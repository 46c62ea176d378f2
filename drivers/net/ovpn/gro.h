/* SPDX-License-Identifier: GPL-2.0-only */
/*  OpenVPN data channel offload: receive batches */

#ifndef _NET_OVPN_GRO_H_
#define _NET_OVPN_GRO_H_

#include <linux/skbuff.h>

#include "socket.h"

struct ovpn_peer;
struct sock;

/* After so many records that came alone, GRO no longer waits for a second one,
 * but for one of OVPN_GRO_PROBE (a power of two): see if that has changed.
 */
#define OVPN_GRO_LONE	16
#define OVPN_GRO_PROBE	8

/**
 * ovpn_gro_hint - find what is known about the records of a peer
 * @sock: socket that they come to
 * @op: opcode word of one of them
 *
 * Return: the entry of its peer ID, which are the lowest bits
 */
static inline struct ovpn_gro_hint *ovpn_gro_hint(struct ovpn_socket *sock,
						  const void *op)
{
	return &sock->gro_hints[be32_to_cpu(*(__be32 *)op) % OVPN_GRO_HINTS];
}

/**
 * ovpn_gro_lone - note that a record came alone
 * @sock: socket that it came to
 * @skb: the record, skb->data at its opcode word
 *
 * A guess for those to come, and no harm if two CPUs disagree. It is written
 * only while it changes: a socket that never sees chains is read only. Records
 * of a chain that was cut on its way count as alone, too: nothing is gained by
 * making more of these.
 */
static inline void ovpn_gro_lone(struct ovpn_socket *sock,
				 const struct sk_buff *skb)
{
	struct ovpn_gro_hint *hint = ovpn_gro_hint(sock, skb->data);
	unsigned int lone = READ_ONCE(hint->lone_records);

	if (lone < OVPN_GRO_LONE)
		WRITE_ONCE(hint->lone_records, lone + 1);
}

struct sk_buff *ovpn_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb);
void ovpn_gro_pause(struct ovpn_peer *peer, const struct sk_buff *skb);
bool ovpn_gro_is_batch(const struct sk_buff *skb);
bool ovpn_gro_is_whole(const struct sk_buff *skb);
void ovpn_gro_recv(struct ovpn_peer *peer, struct sk_buff *skb);

#endif /* _NET_OVPN_GRO_H_ */
