/* SPDX-License-Identifier: GPL-2.0-only */
/*  OpenVPN data channel offload: transmit batches */

#ifndef _NET_OVPN_GSO_H_
#define _NET_OVPN_GSO_H_

#include <linux/skbuff.h>

struct ovpn_peer;

bool ovpn_gso_send(struct ovpn_peer *peer, struct sk_buff *skb);

#endif /* _NET_OVPN_GSO_H_ */
