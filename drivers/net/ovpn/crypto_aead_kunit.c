// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: KUnit tests of record encryption */

#include <kunit/test.h>
#include <linux/skbuff.h>
#include <net/ip.h>
#include <net/udp.h>

#include "ovpnpriv.h"
#include "crypto.h"
#include "crypto_aead.h"
#include "io.h"
#include "ovpn_kunit.h"
#include "peer.h"
#include "proto.h"
#include "skb.h"

#define LEN_MAX		20000
#define GUARD		0xa5

/* a test may have published the key, and have had it killed */
static void ovpn_kunit_key_drop(void *data)
{
	struct ovpn_crypto_key_slot *ks = data;

	if (!percpu_ref_is_dying(&ks->refs))
		ovpn_crypto_key_slot_kill(ks);
	ovpn_crypto_key_slot_put(ks);
}

/**
 * ovpn_kunit_key - make a key slot for a test
 * @test: the test, which has to fail or to be skipped if there is none
 * @alg: cipher
 *
 * Return: the key slot, which goes away with the test
 */
struct ovpn_crypto_key_slot *ovpn_kunit_key(struct kunit *test,
					    enum ovpn_cipher_alg alg)
{
	static const u8 key[32] = "neither secret nor random, alas";
	static const u8 nonce_tail[OVPN_NONCE_TAIL_SIZE] = "the tail";
	const struct ovpn_key_config kc = {
		.cipher_alg = alg,
		.key_id = 5,
		.encrypt.cipher_key = key,
		.encrypt.cipher_key_size = sizeof(key),
		.encrypt.nonce_tail = nonce_tail,
		.encrypt.nonce_tail_size = sizeof(nonce_tail),
		.decrypt.cipher_key = key,
		.decrypt.cipher_key_size = sizeof(key),
		.decrypt.nonce_tail = nonce_tail,
		.decrypt.nonce_tail_size = sizeof(nonce_tail),
	};
	struct ovpn_crypto_key_slot *ks = ovpn_aead_crypto_key_slot_new(&kc);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ks);
	/* the first reference is for the slot that it may be put into */
	if (!ovpn_crypto_key_slot_hold(ks))
		KUNIT_FAIL(test, "a new key without a reference");
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test,
							ovpn_kunit_key_drop,
							ks), 0);
	return ks;
}

struct aead_case {
	const char *name;
	enum ovpn_cipher_alg alg;
};

static const struct aead_case aead_cases[] = {
	{ "AES-GCM", OVPN_CIPHER_ALG_AES_GCM },
	{ "CHACHA20-POLY1305", OVPN_CIPHER_ALG_CHACHA20_POLY1305 },
};

KUNIT_ARRAY_PARAM_DESC(aead, aead_cases, name);

/* a record is what the ordinary path makes of packet, key and ID */
static void ovpn_aead_record(struct kunit *test)
{
	static const unsigned int len[] = {
		1, 15, 16, 17, 63, 64, 65, 1000, 1424, 4096, LEN_MAX,
	};
	static const u32 id[] = { 1, S32_MAX, 0x80000000, U32_MAX };
	const struct aead_case *c = test->param_value;
	struct ovpn_crypto_key_slot *ks;
	struct ovpn_peer *peer;
	struct sk_buff *skb;
	u8 *buf, *record;
	void *request;
	int i, j, ret;
	u32 op;

	ks = ovpn_kunit_key(test, c->alg);
	if (ovpn_aead_is_async(ks->encrypt))
		kunit_skip(test, "the cipher is asynchronous here");
	peer = kunit_kzalloc(test, sizeof(*peer), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer);
	peer->tx_id = 0x123456;
	op = ovpn_opcode_compose(OVPN_DATA_V2, ks->key_id, peer->tx_id);
	buf = kunit_kmalloc(test, OVPN_RECORD_OVERHEAD + LEN_MAX + 8,
			    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	request = kunit_kmalloc(test, ovpn_aead_record_size(ks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, request);

	/* one request for all records, of any length at any address */
	ovpn_aead_record_init(ks, request, NULL, NULL);

	for (i = 0; i < ARRAY_SIZE(len) * ARRAY_SIZE(id); i++) {
		unsigned int n = len[i / ARRAY_SIZE(id)];

		skb = alloc_skb(OVPN_HEAD_ROOM + n, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		skb_reserve(skb, OVPN_HEAD_ROOM);
		skb_put(skb, n);
		for (j = 0; j < n; j++)
			skb->data[j] = j * 7 + i;

		memset(buf, GUARD, OVPN_RECORD_OVERHEAD + LEN_MAX + 8);
		record = buf + 1 + i % 5;
		memcpy(record + OVPN_RECORD_OVERHEAD, skb->data, n);

		atomic_set(&ks->pid_xmit.seq_num, id[i % ARRAY_SIZE(id)]);
		ret = ovpn_aead_encrypt(peer, ks, skb);
		kfree(ovpn_skb_cb(skb)->crypto_tmp);
		KUNIT_EXPECT_EQ(test, ret, 0);

		ret = ovpn_aead_record_encrypt(ks, request, record, n, op,
					       id[i % ARRAY_SIZE(id)]);
		KUNIT_EXPECT_EQ(test, ret, 0);
		KUNIT_EXPECT_EQ(test, skb->len, OVPN_RECORD_OVERHEAD + n);
		KUNIT_EXPECT_MEMEQ(test, record, skb->data,
				   OVPN_RECORD_OVERHEAD + n);
		KUNIT_EXPECT_EQ(test, record[-1], GUARD);
		KUNIT_EXPECT_EQ(test, record[OVPN_RECORD_OVERHEAD + n], GUARD);
		kfree_skb(skb);
	}
}

static struct kunit_case ovpn_aead_cases[] = {
	KUNIT_CASE_PARAM(ovpn_aead_record, aead_gen_params),
	{}
};

static struct kunit_suite ovpn_aead_suite = {
	.name = "ovpn_aead",
	.test_cases = ovpn_aead_cases,
};

kunit_test_suite(ovpn_aead_suite);
