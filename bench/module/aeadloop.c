// SPDX-License-Identifier: GPL-2.0
/* aeadloop: what the AEAD alone costs
 *
 *	echo "gcm(aes) 16 1400 2000" > /sys/kernel/debug/aeadloop
 *	cat /sys/kernel/debug/aeadloop
 *
 * takes the algorithm, the length of its key, the payload of a record and how
 * many records, and answers with one line of key=value pairs.  Each record is
 * encrypted and decrypted as ovpn does it: in place, with 8 bytes of associated
 * data, the payload and 16 bytes of tag in a scatterlist of three, bottom
 * halves off.  Request and scatterlists are there before the clock starts: what
 * a tunnel spends on them is the tunnel's.
 */

#include <crypto/aead.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#define AEADLOOP_AAD		8
#define AEADLOOP_TAG		16
#define AEADLOOP_NONCE		12
#define AEADLOOP_KEY_MAX	64
/* records between two readings of the clock, as many as NAPI takes in a poll */
#define AEADLOOP_BATCH		64

/**
 * struct aeadloop_record - memory of one record
 * @sg: its parts
 * @nonce: its nonce
 * @data: associated data, tag and payload, in the order of a record's bytes
 */
struct aeadloop_record {
	struct scatterlist sg[3];
	u8 nonce[AEADLOOP_NONCE];
	u8 *data;
};

/**
 * struct aeadloop - one measurement
 * @tfm: the cipher
 * @req: the request that all records use
 * @payload: length of a record's payload
 * @records: number of records to come
 * @done: number of records done
 * @encrypt_ns: time that encrypting them took
 * @decrypt_ns: time that decrypting them took
 * @record: the records of a batch
 */
struct aeadloop {
	struct crypto_aead *tfm;
	struct aead_request *req;
	unsigned int payload;
	unsigned int records;
	u64 done;
	u64 encrypt_ns;
	u64 decrypt_ns;
	struct aeadloop_record record[AEADLOOP_BATCH];
};

static DEFINE_MUTEX(aeadloop_lock);
/* the last answer, under the lock */
static char aeadloop_answer[256];
static struct dentry *aeadloop_file;

/* what a payload is before and after */
static u8 aeadloop_byte(unsigned int record, unsigned int i)
{
	return record * 31 + i;
}

static int aeadloop_crypt(struct aeadloop *loop, unsigned int n,
			  int (*crypt)(struct aead_request *req), u64 *ns)
{
	bool decrypt = crypt == crypto_aead_decrypt;
	unsigned int len, i;
	int err = 0;
	u64 start;

	len = loop->payload + (decrypt ? AEADLOOP_TAG : 0);
	local_bh_disable();
	start = ktime_get_ns();
	for (i = 0; i < n; i++) {
		struct aeadloop_record *r = &loop->record[i];

		aead_request_set_crypt(loop->req, r->sg, r->sg, len, r->nonce);
		err = crypt(loop->req);
		if (unlikely(err))
			break;
	}
	*ns += ktime_get_ns() - start;
	local_bh_enable();
	return err;
}

static int aeadloop_run(struct aeadloop *loop)
{
	unsigned int n, i;
	u32 id = 0;
	int err;

	/* one batch that does not count: first use of tables and caches */
	err = aeadloop_crypt(loop, AEADLOOP_BATCH, crypto_aead_encrypt,
			     &loop->encrypt_ns);
	if (err)
		return err;
	err = aeadloop_crypt(loop, AEADLOOP_BATCH, crypto_aead_decrypt,
			     &loop->decrypt_ns);
	if (err)
		return err;
	loop->encrypt_ns = 0;
	loop->decrypt_ns = 0;

	while (loop->done < loop->records) {
		n = min_t(u64, AEADLOOP_BATCH, loop->records - loop->done);
		for (i = 0; i < n; i++) {
			id++;
			memcpy(loop->record[i].nonce, &id, sizeof(id));
		}
		err = aeadloop_crypt(loop, n, crypto_aead_encrypt,
				     &loop->encrypt_ns);
		if (err)
			return err;
		err = aeadloop_crypt(loop, n, crypto_aead_decrypt,
				     &loop->decrypt_ns);
		if (err)
			return err;
		loop->done += n;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}

	/* a cipher that did nothing would be fast */
	for (n = 0; n < AEADLOOP_BATCH; n++) {
		const u8 *payload = loop->record[n].data + AEADLOOP_AAD +
				    AEADLOOP_TAG;

		for (i = 0; i < loop->payload; i++)
			if (payload[i] != aeadloop_byte(n, i))
				return -EBADMSG;
	}
	return 0;
}

static int aeadloop_make_records(struct aeadloop *loop)
{
	struct aeadloop_record *r;
	unsigned int n, i;
	u8 *payload;

	for (n = 0; n < AEADLOOP_BATCH; n++) {
		r = &loop->record[n];
		r->data = kzalloc(AEADLOOP_AAD + AEADLOOP_TAG + loop->payload,
				  GFP_KERNEL);
		if (!r->data)
			return -ENOMEM;
		payload = r->data + AEADLOOP_AAD + AEADLOOP_TAG;
		for (i = 0; i < loop->payload; i++)
			payload[i] = aeadloop_byte(n, i);
		sg_init_table(r->sg, 3);
		sg_set_buf(&r->sg[0], r->data, AEADLOOP_AAD);
		sg_set_buf(&r->sg[1], payload, loop->payload);
		sg_set_buf(&r->sg[2], r->data + AEADLOOP_AAD, AEADLOOP_TAG);
	}
	return 0;
}

static int aeadloop_measure(struct aeadloop *loop, const char *alg,
			    unsigned int key_len)
{
	u8 key[AEADLOOP_KEY_MAX];
	unsigned int i;
	int err;

	loop->tfm = crypto_alloc_aead(alg, 0, 0);
	if (IS_ERR(loop->tfm))
		return PTR_ERR(loop->tfm);

	err = -EOPNOTSUPP;
	/* one request for all is only right where each is done on return */
	if (crypto_aead_alg(loop->tfm)->base.cra_flags & CRYPTO_ALG_ASYNC ||
	    crypto_aead_ivsize(loop->tfm) != AEADLOOP_NONCE)
		goto free_tfm;
	get_random_bytes(key, key_len);
	err = crypto_aead_setkey(loop->tfm, key, key_len);
	memzero_explicit(key, sizeof(key));
	if (err)
		goto free_tfm;
	err = crypto_aead_setauthsize(loop->tfm, AEADLOOP_TAG);
	if (err)
		goto free_tfm;

	loop->req = aead_request_alloc(loop->tfm, GFP_KERNEL);
	if (!loop->req) {
		err = -ENOMEM;
		goto free_tfm;
	}
	aead_request_set_callback(loop->req, 0, NULL, NULL);
	aead_request_set_ad(loop->req, AEADLOOP_AAD);

	err = aeadloop_make_records(loop);
	if (err)
		goto free_records;
	err = aeadloop_run(loop);
	if (err)
		goto free_records;

	scnprintf(aeadloop_answer, sizeof(aeadloop_answer),
		  "alg=%s driver=%s key=%u payload=%u records=%llu bytes=%llu encrypt_ns=%llu decrypt_ns=%llu\n",
		  alg, crypto_tfm_alg_driver_name(crypto_aead_tfm(loop->tfm)),
		  key_len, loop->payload, loop->done,
		  loop->done * loop->payload, loop->encrypt_ns,
		  loop->decrypt_ns);

free_records:
	for (i = 0; i < AEADLOOP_BATCH; i++)
		kfree(loop->record[i].data);
	aead_request_free(loop->req);
free_tfm:
	crypto_free_aead(loop->tfm);
	return err;
}

static ssize_t aeadloop_write(struct file *file, const char __user *from,
			      size_t len, loff_t *pos)
{
	unsigned int key_len, payload, records;
	char line[128], alg[64];
	struct aeadloop *loop;
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	if (sscanf(line, "%63s %u %u %u", alg, &key_len, &payload,
		   &records) != 4)
		return -EINVAL;
	if (!key_len || key_len > AEADLOOP_KEY_MAX || !payload ||
	    payload > SZ_64K || !records)
		return -EINVAL;

	loop = kzalloc_obj(*loop, GFP_KERNEL);
	if (!loop)
		return -ENOMEM;
	loop->payload = payload;
	loop->records = records;

	err = mutex_lock_interruptible(&aeadloop_lock);
	if (!err) {
		aeadloop_answer[0] = '\0';
		err = aeadloop_measure(loop, alg, key_len);
		mutex_unlock(&aeadloop_lock);
	}
	kfree(loop);
	return err ?: len;
}

static int aeadloop_show(struct seq_file *seq, void *unused)
{
	mutex_lock(&aeadloop_lock);
	seq_puts(seq, aeadloop_answer);
	mutex_unlock(&aeadloop_lock);
	return 0;
}

DEFINE_SHOW_STORE_ATTRIBUTE(aeadloop);

static int __init aeadloop_init(void)
{
	aeadloop_file = debugfs_create_file("aeadloop", 0600, NULL, NULL,
					    &aeadloop_fops);
	return PTR_ERR_OR_ZERO(aeadloop_file);
}

static void __exit aeadloop_exit(void)
{
	debugfs_remove(aeadloop_file);
}

module_init(aeadloop_init);
module_exit(aeadloop_exit);

MODULE_DESCRIPTION("Time of an AEAD in a loop, for the bench");
MODULE_LICENSE("GPL");
