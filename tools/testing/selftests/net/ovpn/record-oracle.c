// SPDX-License-Identifier: GPL-2.0
/* Judge the data channel by what is on the wire.
 *
 * A packet socket on the underlay device sees every datagram that one end of
 * the tunnel sends.  With the key of the test each record in it is decrypted,
 * by another implementation than the kernel's, and nothing that the driver
 * claims about it is believed:
 *
 *  - opcode word: DATA_V2, the expected peer, a key that was given
 *  - packet IDs: each once, none left out, and in one row within an aggregate
 *  - tag and plaintext: authentic, one IP packet of the record's length, every
 *    inner checksum right
 *  - the datagram: checksum complete or left in the form that an offload wants;
 *    an aggregate (UDP GSO, seen where no segmentation has happened yet) has
 *    two records or more of one size, only the last one may be shorter
 *
 * Records that left in fragments are put together again.
 *
 * -d writes a line for each inner packet that is the same whenever the same
 * data is sent, whatever the ports and IDs that the stack happened to choose.
 */

#include <arpa/inet.h>
#include <linux/virtio_net.h>
#include <psa/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pktcheck.h"
#include "tap.h"

#define MAX_SEGS	128

/* wire format */
#define DATA_V2		9
#define OP_LEN		4
#define AAD_LEN		8
#define TAG_LEN		16
#define OVERHEAD	(AAD_LEN + TAG_LEN)
#define NONCE_LEN	12

/* key file, as ovpn-cli reads it */
#define KEY_CHARS	256
#define KEY_LEN		32
#define TAIL_AT		(2 * KEY_LEN)
#define TAIL_LEN	8

#define KEY_IDS		8
/* packet IDs to either side of the first one seen */
#define ID_WINDOW	0x800000U

struct key {
	bool known;
	psa_key_id_t id;
	__u8 tail[TAIL_LEN];
	__u8 *seen;		/* a bit for each packet ID */
	__u32 first;
	__u32 low;
	__u32 high;
	__u32 count;
	unsigned long turn;	/* last one in which it was in use */
};

static struct {
	unsigned long datagrams;
	unsigned long records;
	unsigned long aggregates;
	unsigned long batched;	/* records in aggregates */
	unsigned long longest;	/* records in the largest aggregate */
	unsigned long biggest;	/* payload of the largest plain datagram */
	unsigned long keepalive;
	unsigned long fragmented; /* datagrams that came in fragments */
	unsigned long late;	/* behind a higher packet ID */
	unsigned long twice;	/* packet ID used before */
	unsigned long gap;	/* packet IDs left out */
	unsigned long nosum;	/* UDP checksum zero */
	unsigned long epochs;	/* keys that were in use, one after the other */
} seen;

static struct key keys[KEY_IDS];
static psa_algorithm_t alg;
static unsigned int peer_id = 1;
static unsigned int port = 1194;
static bool epochs;		/* a key ID may come again with a new key */
static bool sending;		/* watch what the device sends */
static FILE *digest;

static void fault(const char *fmt, unsigned long v)
{
	cnt.bad++;
	if (!verbose)
		return;
	fprintf(stderr, "datagram %lu: ", seen.datagrams);
	fprintf(stderr, fmt, v);
	fputc('\n', stderr);
}

static __u32 get32(const __u8 *p)
{
	return (__u32)get16(p) << 16 | get16(p + 2);
}

static void put16(__u8 *p, unsigned int v)
{
	p[0] = v >> 8;
	p[1] = v;
}

/* --- keys ----------------------------------------------------------------- */

static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

static void read_key(struct key *key, const char *path, unsigned int which)
{
	psa_key_attributes_t attr = PSA_KEY_ATTRIBUTES_INIT;
	__u8 raw[KEY_CHARS / 4 * 3];
	char text[KEY_CHARS];
	size_t i, n = 0;
	__u32 word = 0;
	FILE *f;
	int v;

	f = fopen(path, "r");
	if (!f || fread(text, 1, sizeof(text), f) != sizeof(text))
		errx(1, "%s: no key in there", path);
	fclose(f);
	for (i = 0; i < sizeof(text); i++) {
		v = sextet(text[i]);
		if (v < 0)
			errx(1, "%s: not base64", path);
		word = word << 6 | v;
		if (i % 4 != 3)
			continue;
		raw[n++] = word >> 16;
		raw[n++] = word >> 8;
		raw[n++] = word;
	}
	psa_set_key_usage_flags(&attr,
				PSA_KEY_USAGE_ENCRYPT | PSA_KEY_USAGE_DECRYPT);
	psa_set_key_algorithm(&attr, alg);
	psa_set_key_type(&attr, alg == PSA_ALG_GCM ? PSA_KEY_TYPE_AES :
						     PSA_KEY_TYPE_CHACHA20);
	if (psa_import_key(&attr, raw + which * KEY_LEN, KEY_LEN, &key->id))
		errx(1, "%s: key not accepted", path);
	memcpy(key->tail, raw + TAIL_AT, TAIL_LEN);
	key->seen = calloc(2 * ID_WINDOW / 8, 1);
	if (!key->seen)
		err(1, "calloc");
	key->known = true;
}

static void key_nonce(const struct key *key, const __u8 *rec, __u8 *nonce)
{
	memcpy(nonce, rec + OP_LEN, 4);
	memcpy(nonce + 4, key->tail, TAIL_LEN);
}

/* the IDs of a key that is done with: all there? */
static void close_epoch(struct key *key)
{
	if (!key->count)
		return;
	seen.gap += key->high - key->low + 1 - key->count;
	seen.epochs++;
	memset(key->seen, 0, 2 * ID_WINDOW / 8);
	key->count = 0;
}

/* The keys take turns.  Late records of the one before are nothing new, but one
 * that has not been in use since two others were is another key by the same ID.
 */
static void take_turn(struct key *key)
{
	static unsigned long turn;

	if (key->turn && key->turn + 1 >= turn)
		return;
	close_epoch(key);
	key->turn = ++turn;
}

static void note_id(struct key *key, __u32 id)
{
	__u32 at;

	if (epochs)
		take_turn(key);
	if (!key->count) {
		key->first = id;
		key->low = id;
		key->high = id;
	}
	at = id - key->first + ID_WINDOW;
	if (!id || at >= 2 * ID_WINDOW) {
		fault("packet ID %lu out of range", id);
		return;
	}
	if (key->seen[at / 8] & 1 << at % 8) {
		seen.twice++;
		fault("packet ID %lu used twice", id);
		return;
	}
	key->seen[at / 8] |= 1 << at % 8;
	key->count++;
	if (id < key->high)
		seen.late++;
	if (id < key->low)
		key->low = id;
	if (id > key->high)
		key->high = id;
}

/* --- what a packet is, without what is left to chance --------------------- */

struct flow {
	__u8 id[40];		/* addresses, protocol, ports */
	__u32 ip_id;		/* of its first packet */
};

static unsigned long long fnv(const __u8 *p, size_t len)
{
	unsigned long long h = 0xcbf29ce484222325;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3;
	return h;
}

/* the IDs of a flow count from its first packet */
static unsigned int relative_id(const __u8 *id, unsigned int ip_id)
{
	static struct flow flows[256];
	static unsigned int n;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!memcmp(flows[i].id, id, sizeof(flows[i].id)))
			break;
	if (i == n) {
		if (n == 256)
			return 0;
		memcpy(flows[n].id, id, sizeof(flows[n].id));
		flows[n++].ip_id = ip_id;
	}
	return (ip_id - flows[i].ip_id) & 0xffff;
}

static void write_digest(const __u8 *p, size_t len)
{
	bool v4 = p[0] >> 4 == 4;
	size_t off = v4 ? (p[0] & 15) * 4 : 40;
	__u8 proto = v4 ? p[9] : p[6];
	__u8 id[40] = { 0 };

	if (proto != IPPROTO_UDP || len < off + 8) {
		fprintf(digest, "proto%u ip%u len %zu\n", proto, v4 ? 4 : 6,
			len);
		return;
	}
	memcpy(id, p + (v4 ? 12 : 8), v4 ? 8 : 32);
	memcpy(id + 32, p + off, 4);
	id[36] = v4 ? 4 : 6;
	fprintf(digest, "udp ip%u len %zu port %u ", v4 ? 4 : 6, len,
		get16(p + off + 2));
	if (v4)
		fprintf(digest, "tos %u frag %x ttl %u id %u ", p[1],
			get16(p + 6), p[8], relative_id(id, get16(p + 4)));
	else
		fprintf(digest, "tc %u hops %u ",
			(p[0] & 15) << 4 | p[1] >> 4, p[7]);
	fprintf(digest, "hash %016llx\n", fnv(p + off + 8, len - off - 8));
}

/* --- records -------------------------------------------------------------- */

static const __u8 keepalive[] = {
	0x2a, 0x18, 0x7b, 0xf3, 0x64, 0x1e, 0xb4, 0xcb,
	0x07, 0xed, 0x2d, 0x0a, 0x98, 0x1f, 0xc7, 0x48
};

static void check_record(const __u8 *rec, size_t len)
{
	static __u8 sealed[MAX_PKT], plain[MAX_PKT];
	__u8 nonce[NONCE_LEN];
	struct key *key;
	size_t n, got;

	seen.records++;
	if (len <= OVERHEAD) {
		fault("%lu bytes are no record", len);
		return;
	}
	if (rec[0] >> 3 != DATA_V2) {
		fault("opcode %lu", rec[0] >> 3);
		return;
	}
	if ((get32(rec) & 0xffffff) != peer_id) {
		fault("peer ID %lu", get32(rec) & 0xffffff);
		return;
	}
	key = &keys[rec[0] & 7];
	if (!key->known) {
		fault("key ID %lu", rec[0] & 7);
		return;
	}
	note_id(key, get32(rec + OP_LEN));

	/* the tag is in front on the wire, and behind for everybody else */
	n = len - OVERHEAD;
	memcpy(sealed, rec + OVERHEAD, n);
	memcpy(sealed + n, rec + AAD_LEN, TAG_LEN);
	key_nonce(key, rec, nonce);
	if (psa_aead_decrypt(key->id, alg, nonce, sizeof(nonce), rec, AAD_LEN,
			     sealed, n + TAG_LEN, plain, sizeof(plain), &got) ||
	    got != n) {
		fault("packet ID %lu is not authentic", get32(rec + OP_LEN));
		return;
	}
	if (n == sizeof(keepalive) && !memcmp(plain, keepalive, n)) {
		seen.keepalive++;
		return;
	}
	check_packet(plain, n);
	if (digest)
		write_digest(plain, n);
}

/* payload of one datagram, which is an aggregate where there is a SIZE */
static void check_payload_of(const __u8 *p, size_t len, size_t size)
{
	size_t n = 0, at, part;
	__u32 op, id;

	if (!size) {
		if (len > seen.biggest)
			seen.biggest = len;
		check_record(p, len);
		return;
	}
	seen.aggregates++;
	op = len >= AAD_LEN ? get32(p) : 0;
	id = len >= AAD_LEN ? get32(p + OP_LEN) : 0;
	for (at = 0; at < len; at += part, n++) {
		part = len - at < size ? len - at : size;
		if (part > OVERHEAD && get32(p + at) != op)
			fault("another opcode word in record %lu", n);
		if (part > OVERHEAD && get32(p + at + OP_LEN) != id + n)
			fault("packet IDs not in one row at record %lu", n);
		check_record(p + at, part);
	}
	if (n < 2 || n > MAX_SEGS)
		fault("aggregate of %lu records", n);
	seen.batched += n;
	if (n > seen.longest)
		seen.longest = n;
}

/* --- datagrams ------------------------------------------------------------ */

struct offload {
	bool partial;
	size_t csum_start;	/* from the IP header on */
	size_t csum_offset;
	size_t size;		/* of the segments of an aggregate, or 0 */
};

static void check_datagram(const __u8 *udp, size_t len, size_t udp_off,
			   const struct pseudo *ph, const struct offload *off)
{
	__u32 sum;

	if (len < 8 || (get16(udp) != port && get16(udp + 2) != port))
		return;
	seen.datagrams++;
	if (get16(udp + 4) != len)
		fault("length %lu in the UDP header", get16(udp + 4));
	sum = get16(udp + 6);
	if (!sum) {
		seen.nosum++;
		if (off->size)
			fault("aggregate without checksum (%lu)", len);
	} else if (off->partial) {
		if (off->csum_start != udp_off || off->csum_offset != 6)
			fault("checksum offload starts at %lu",
			      off->csum_start);
		if (sum != pseudo_sum(ph, IPPROTO_UDP, len))
			fault("%lx is not the sum of the pseudo header", sum);
	} else {
		if (off->size)
			fault("aggregate with a complete checksum (%lu)", len);
		if (!sum_is_good(sum16(pseudo_sum(ph, IPPROTO_UDP, len), udp,
				       len)))
			fault("UDP checksum %lx", sum);
	}
	check_payload_of(udp + 8, len - 8, off->size);
}

/* Fragments come in order, but those of several datagrams may be mixed. */
static void check_fragment(__u32 id, size_t at, bool more, const __u8 *p,
			   size_t len, const struct pseudo *ph)
{
	static struct {
		__u8 *buf;
		__u32 id;
		size_t len;
	} slots[16];
	const struct offload none = { 0 };
	unsigned int i, empty = 16;

	if (!at && !more) {
		fault("atomic fragment, ID %lx", id);
		return;
	}
	for (i = 0; i < 16; i++) {
		if (slots[i].len && slots[i].id == id)
			break;
		if (!slots[i].len)
			empty = i;
	}
	if (i == 16) {
		if (at || empty == 16) {
			fault("stray fragment, ID %lx", id);
			return;
		}
		i = empty;
		slots[i].id = id;
		if (!slots[i].buf)
			slots[i].buf = malloc(1 << 17);
		if (!slots[i].buf)
			err(1, "malloc");
	}
	if (at != slots[i].len || at + len > 65535) {
		fault("fragment at %lu does not fit", at);
		slots[i].len = 0;
		return;
	}
	memcpy(slots[i].buf + at, p, len);
	slots[i].len += len;
	if (more)
		return;
	seen.fragmented++;
	check_datagram(slots[i].buf, slots[i].len, 0, ph, &none);
	slots[i].len = 0;
}

static void check_outer4(const __u8 *p, size_t len, const struct offload *off)
{
	struct pseudo ph = { .addrs = p + 12, .addrs_len = 8 };
	unsigned int frag;
	size_t hlen, tot;

	if (len < 20)
		return;
	hlen = (p[0] & 15) * 4;
	tot = get16(p + 2);
	if (p[9] != IPPROTO_UDP || hlen < 20)
		return;
	if (tot > len || tot < hlen || (off->size && tot != len)) {
		fault("length %lu in the IPv4 header", tot);
		return;
	}
	if (!sum_is_good(sum16(0, p, hlen)))
		fault("IPv4 header checksum %lx", get16(p + 10));
	frag = get16(p + 6);
	if (frag & 0x3fff)
		check_fragment(get16(p + 4), (frag & 0x1fff) * 8,
			       frag & 0x2000, p + hlen, tot - hlen, &ph);
	else
		check_datagram(p + hlen, tot - hlen, hlen, &ph, off);
}

static void check_outer6(const __u8 *p, size_t len, const struct offload *off)
{
	struct pseudo ph = { .addrs = p + 8, .addrs_len = 32 };
	unsigned int frag;
	size_t tot;

	if (len < 48)
		return;
	tot = 40 + get16(p + 4);
	if (p[6] == IPPROTO_UDP) {
		if (tot > len || (off->size && tot != len))
			fault("length %lu in the IPv6 header", tot);
		else
			check_datagram(p + 40, tot - 40, 40, &ph, off);
		return;
	}
	if (p[6] != IPPROTO_FRAGMENT || p[40] != IPPROTO_UDP || tot > len)
		return;
	frag = get16(p + 42);
	check_fragment(get32(p + 44), frag & ~7, frag & 1, p + 48, tot - 48,
		       &ph);
}

static void check_frame(const struct virtio_net_hdr *vh, const __u8 *p,
			size_t len)
{
	struct offload off = { 0 };

	if (len < ETH_HLEN)
		return;
	off.partial = vh->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;
	off.csum_start = vh->csum_start - ETH_HLEN;
	off.csum_offset = vh->csum_offset;
	if ((vh->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) ==
	    VIRTIO_NET_HDR_GSO_UDP_L4)
		off.size = vh->gso_size;
	switch (get16(p + 12)) {
	case ETH_P_IP:
		check_outer4(p + ETH_HLEN, len - ETH_HLEN, &off);
		break;
	case ETH_P_IPV6:
		check_outer6(p + ETH_HLEN, len - ETH_HLEN, &off);
		break;
	}
}

/* --- the oracle, judged --------------------------------------------------- */

static int failed;

static void expect(const char *what, unsigned long got, unsigned long want)
{
	if (got == want)
		return;
	fprintf(stderr, "self-test: %s: %lu, not %lu\n", what, got, want);
	failed++;
}

/* an IPv4 UDP packet of LEN bytes */
static void make_inner(__u8 *p, size_t len)
{
	struct pseudo ph = { .addrs = p + 12, .addrs_len = 8 };
	size_t i;

	memset(p, 0, 28);
	p[0] = 0x45;
	put16(p + 2, len);
	p[8] = 64;
	p[9] = IPPROTO_UDP;
	put16(p + 10, ~sum16(0, p, 20));
	put16(p + 22, 9);
	put16(p + 24, len - 20);
	for (i = 28; i < len; i++)
		p[i] = i;
	put16(p + 26, ~sum16(pseudo_sum(&ph, IPPROTO_UDP, len - 20), p + 20,
			     len - 20));
}

/* seal an inner packet of LEN bytes, broken at a byte that is not the first */
static size_t make_record(__u8 *rec, __u32 op, __u32 id, size_t len,
			  size_t broken)
{
	__u8 inner[1500], sealed[1600], nonce[NONCE_LEN];
	size_t got;

	make_inner(inner, len);
	inner[broken] ^= broken ? 1 : 0;
	put16(rec, op >> 16);
	put16(rec + 2, op);
	put16(rec + 4, id >> 16);
	put16(rec + 6, id);
	key_nonce(&keys[0], rec, nonce);
	if (psa_aead_encrypt(keys[0].id, alg, nonce, sizeof(nonce), rec,
			     AAD_LEN, inner, len, sealed, sizeof(sealed), &got))
		errx(1, "cannot encrypt");
	memcpy(rec + AAD_LEN, sealed + len, TAG_LEN);
	memcpy(rec + OVERHEAD, sealed, len);
	return len + OVERHEAD;
}

static void expect_bad(const char *what, unsigned long want)
{
	expect(what, cnt.bad, want);
	cnt.bad = 0;
}

static int self_test(void)
{
	const __u32 op = DATA_V2 << 27 | 1;
	__u8 buf[4096];
	size_t len, i;

	len = make_record(buf, op, 5, 100, 0);
	check_payload_of(buf, len, 0);
	expect_bad("good record", 0);
	expect("inner packets", cnt.ok[UDP], 1);
	check_payload_of(buf, len, 0);
	expect_bad("record sent twice", 1);
	for (i = 0; i < len; i += 7) {
		make_record(buf, op, 6 + i, 100, 0);
		buf[i] ^= 0x10;
		check_payload_of(buf, len, 0);
		expect_bad("record with a flipped bit", 1);
	}
	make_record(buf, op, 200, 100, 60);
	check_payload_of(buf, len, 0);
	expect_bad("inner packet damaged before encryption", 1);
	make_record(buf, op, 201, 100, 3);
	check_payload_of(buf, len, 0);
	expect_bad("inner packet of another length", 1);
	make_record(buf, op, 202, 100, 0);
	check_payload_of(buf, len - 1, 0);
	expect_bad("record cut short", 1);
	make_record(buf, op + 1, 203, 100, 0);
	check_payload_of(buf, len, 0);
	expect_bad("record of another peer", 1);
	make_record(buf, op | 1 << 24, 204, 100, 0);
	check_payload_of(buf, len, 0);
	expect_bad("record of an unknown key", 1);

	memset(keys[0].seen, 0, 2 * ID_WINDOW / 8);
	memset(&seen, 0, sizeof(seen));
	keys[0].count = 0;
	len = make_record(buf, op, 1, 300, 0);
	i = len;
	i += make_record(buf + i, op, 2, 300, 0);
	i += make_record(buf + i, op, 3, 200, 0);
	check_payload_of(buf, i, len);
	expect_bad("aggregate", 0);
	expect("records in it", seen.batched, 3);
	i = make_record(buf, op, 4, 300, 0);
	i += make_record(buf + i, op, 6, 300, 0);
	check_payload_of(buf, i, len);
	expect_bad("aggregate with a hole", 1);
	i = make_record(buf, op, 7, 200, 0);
	i += make_record(buf + i, op, 8, 300, 0);
	check_payload_of(buf, i, len);
	expect("first record of an aggregate too short", !cnt.bad, 0);
	cnt.bad = 0;
	make_record(buf, op, 20, 300, 0);
	check_payload_of(buf, len, len);
	expect_bad("aggregate of one", 1);
	make_record(buf, op, 19, 300, 0);
	check_payload_of(buf, len, 0);
	expect_bad("late record", 0);
	expect("late records", seen.late, 1);
	close_epoch(&keys[0]);
	/* 5 and what followed the short first record: 8 to 18 */
	expect("packet IDs left out", seen.gap, 12);
	return failed ? 1 : 0;
}

/* --- capture -------------------------------------------------------------- */

static void frame(const __u8 *p, size_t len, __be16 proto)
{
	struct virtio_net_hdr vh;

	(void)proto;
	if (len < sizeof(vh))
		return;
	memcpy(&vh, p, sizeof(vh));
	check_frame(&vh, p + sizeof(vh), len - sizeof(vh));
}

static void report(unsigned int lost, unsigned long again)
{
	int i;

	for (i = 0; i < KEY_IDS; i++)
		close_epoch(&keys[i]);
	for (i = 0; i < KINDS; i++)
		printf("%s=%lu ", kind_name[i], cnt.ok[i]);
	printf("bad=%lu none=%lu lost=%u packets=%lu ", cnt.bad, cnt.none,
	       lost, cnt.packets);
	printf("datagrams=%lu records=%lu aggregates=%lu batched=%lu ",
	       seen.datagrams, seen.records, seen.aggregates, seen.batched);
	printf("longest=%lu ", seen.longest);
	printf("biggest=%lu keepalive=%lu fragmented=%lu again=%lu late=%lu ",
	       seen.biggest, seen.keepalive, seen.fragmented, again,
	       seen.late);
	printf("twice=%lu gap=%lu nosum=%lu epochs=%lu\n", seen.twice,
	       seen.gap, seen.nosum, seen.epochs);
}

static int capture(const char *dev)
{
	struct tap tap = {
		.dev = dev,
		.type = SOCK_RAW,
		.outgoing = sending,
		.lazy = lazy,
		.packet = frame,
	};
	unsigned int lost = tap_run(&tap);

	report(lost, tap.again);
	if (digest && fclose(digest))
		err(1, "digest");
	return 0;
}

static void help(void)
{
	fprintf(stderr,
		"usage: record-oracle -s -a ALG -k 0:FILE\n"
		"       record-oracle [-o] [-l] [-v] [-e] [-r 0|1] [-i PEER] [-p PORT] [-d FILE] -a ALG -k ID:FILE... DEVICE\n"
		"  -s  check the oracle with good and bad records\n"
		"  -o  outgoing packets instead of incoming ones\n"
		"  -l  read nothing before the end, to hold on to the packets\n"
		"  -v  name each fault on stderr\n"
		"  -e  a key ID may come again, three keys take turns\n"
		"  -r  key direction of the sending end (ovpn-cli new_key)\n"
		"  -d  write a digest of each inner packet to FILE\n"
		"  -a  aes or chachapoly\n"
		"  -k  key ID and key file, for each key in use\n"
		"SIGTERM ends the capture and prints the counts.\n");
	exit(1);
}

int main(int argc, char **argv)
{
	const char *key_arg[KEY_IDS] = { NULL }, *digest_path = NULL;
	unsigned int which = 0, n_keys = 0, i, id;
	bool test = false;
	int opt;

	while ((opt = getopt(argc, argv, "solver:i:p:d:a:k:")) != -1) {
		switch (opt) {
		case 's':
			test = true;
			break;
		case 'o':
			sending = true;
			break;
		case 'l':
			lazy = true;
			break;
		case 'v':
			verbose = true;
			break;
		case 'e':
			epochs = true;
			break;
		case 'r':
			which = atoi(optarg);
			break;
		case 'i':
			peer_id = strtoul(optarg, NULL, 0);
			break;
		case 'p':
			port = strtoul(optarg, NULL, 0);
			break;
		case 'd':
			digest_path = optarg;
			break;
		case 'a':
			if (!strcmp(optarg, "aes"))
				alg = PSA_ALG_GCM;
			else if (!strcmp(optarg, "chachapoly"))
				alg = PSA_ALG_CHACHA20_POLY1305;
			else
				help();
			break;
		case 'k':
			if (n_keys == KEY_IDS)
				help();
			key_arg[n_keys++] = optarg;
			break;
		default:
			help();
		}
	}
	if (!alg || !n_keys || which > 1 || optind != argc - !test)
		help();
	crc32c_init();
	if (psa_crypto_init())
		errx(1, "psa_crypto_init");
	for (i = 0; i < n_keys; i++) {
		id = key_arg[i][0] - '0';
		if (id >= KEY_IDS || key_arg[i][1] != ':')
			help();
		read_key(&keys[id], key_arg[i] + 2, which);
	}
	if (test)
		return self_test();
	if (digest_path) {
		digest = fopen(digest_path, "w");
		if (!digest)
			err(1, "%s", digest_path);
	}
	return capture(argv[optind]);
}
