/* SPDX-License-Identifier: GPL-2.0-only */
/*  OpenVPN data channel offload: what the KUnit tests share */

#ifndef _NET_OVPN_KUNIT_H_
#define _NET_OVPN_KUNIT_H_

#include <kunit/test.h>
#include <linux/skbuff.h>
#include <uapi/linux/ovpn.h>

struct ovpn_crypto_key_slot;

struct ovpn_crypto_key_slot *ovpn_kunit_key(struct kunit *test,
					    enum ovpn_cipher_alg alg);
struct sk_buff *ovpn_kunit_gso_skb(struct kunit *test, unsigned int mss,
				   unsigned int payload);

#endif /* _NET_OVPN_KUNIT_H_ */
