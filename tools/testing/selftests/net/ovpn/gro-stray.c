// SPDX-License-Identifier: GPL-2.0
/* Send datagrams that look like records, and see that each arrives as it was
 * sent, wherever it arrives.
 *
 * GRO chains records by their header, before anybody could tell whether they
 * are authentic.  These are not.  Length and bytes of a datagram follow from
 * its number, which is where a record has its packet ID, so that loss, damage,
 * a wrong order and datagrams that were joined or cut are all told apart.
 *
 * A round of them has rows that end with a shorter one, that are longer than
 * 64, that are larger than 64 KiB, and single ones, too short to be batched.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "batch.h"
#include "tap.h"

#ifndef IPV6_TRANSPARENT
#define IPV6_TRANSPARENT 75
#endif

#define PATIENCE_MS	10000
#define HEAD_LEN	8

#define DATA_V2		9
/* key 0, peer 1 */
#define OPCODE_WORD	((__u32)DATA_V2 << 27 | 1)
/* no longer than a keepalive message */
#define RECORD_MIN	40

/* one call of send(), cut into datagrams of size seg */
static const struct call {
	unsigned int len;
	unsigned int seg;
} calls[] = {
	{ 31 * 1250 + 951, 1250 },
	{ 1250, 1250 },
	{ 400, 400 },
	{ 30, 30 },
	{ 65 * 600, 600 },
	{ 52 * 1250, 1250 },
	{ 8 * 1250, 1250 },
	{ 20 * 1400 + 1399, 1400 },
	{ 41, 41 },
};

#define CALLS		ARRAY_SIZE(calls)
#define MAX_ROUND	256

static unsigned int len_of[MAX_ROUND];
static unsigned int per_round;

static struct {
	unsigned long good;
	unsigned long bad;
	unsigned long late;	/* behind a higher number, or twice */
	unsigned long gap;	/* numbers left out */
	unsigned long aggregates;
	unsigned long longest;	/* datagrams in the largest aggregate */
	unsigned long sums;	/* wrong checksums */
	unsigned long unsummed;	/* left to an offload */
	unsigned long twice;	/* copies that were expected */
} seen;

static __u32 opcode_word = OPCODE_WORD;
static __u32 next_seq;
static unsigned int copies = 1;
static bool verbose;
static FILE *headers;
static FILE *digest;		/* of any payload, instead of checking it */

static __u32 sum16(__u32 sum, const __u8 *p, size_t len)
{
	for (; len > 1; p += 2, len -= 2)
		sum += get16(p);
	if (len)
		sum += *p << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void init_round(void)
{
	unsigned int i, left;

	for (i = 0; i < CALLS; i++)
		for (left = calls[i].len; left;) {
			len_of[per_round] = left < calls[i].seg ?
					    left : calls[i].seg;
			left -= len_of[per_round++];
		}
}

static void fill_datagram(__u8 *p, __u32 seq, unsigned int len)
{
	unsigned int i;

	put32(p, opcode_word);
	put32(p + 4, seq);
	for (i = HEAD_LEN; i < len; i++)
		p[i] = pattern(seq, i);
}

static void fault(const char *fmt, unsigned long a, unsigned long b)
{
	seen.bad++;
	if (!verbose)
		return;
	fprintf(stderr, fmt, a, b);
	fputc('\n', stderr);
}

/* payload of one datagram; true where its number can be believed */
static bool check_datagram(const __u8 *p, size_t len)
{
	static unsigned int had;
	unsigned int i;
	__u32 seq;

	if (len < HEAD_LEN) {
		fault("%lu bytes after number %lu", len, next_seq);
		return false;
	}
	seq = get32(p + 4);
	if (get32(p) != opcode_word) {
		fault("opcode word %lx after number %lu", get32(p), next_seq);
		return false;
	}
	if (len != len_of[seq % per_round]) {
		fault("number %lu has %lu bytes", seq, len);
		return false;
	}
	for (i = HEAD_LEN; i < len; i++) {
		if (p[i] != pattern(seq, i)) {
			fault("number %lu damaged at %lu", seq, i);
			return false;
		}
	}
	seen.good++;
	if (next_seq && seq == next_seq - 1 && had < copies) {
		had++;
		seen.twice++;
	} else if (seq < next_seq) {
		seen.late++;
	} else {
		seen.gap += seq - next_seq;
		next_seq = seq + 1;
		had = 1;
	}
	return true;
}

static void print_counts(unsigned int lost)
{
	printf("good=%lu bad=%lu late=%lu gap=%lu aggregates=%lu longest=%lu ",
	       seen.good, seen.bad, seen.late, seen.gap, seen.aggregates,
	       seen.longest);
	/* packets: what tells the reader that there was a report at all */
	printf("sums=%lu unsummed=%lu twice=%lu lost=%u packets=%lu\n",
	       seen.sums, seen.unsummed, seen.twice, lost,
	       seen.good + seen.bad);
	fflush(stdout);
}

/* --- sockets -------------------------------------------------------------- */

/* what ICMP said of an earlier datagram is no reason to leave one out */
static void send_all(int fd, const struct addrinfo *to, const __u8 *p,
		     unsigned int len, bool flood)
{
	ssize_t ret;

	do {
		ret = to ? sendto(fd, p, len, 0, to->ai_addr, to->ai_addrlen) :
			   send(fd, p, len, 0);
	} while (ret < 0 && errno == ECONNREFUSED);
	if (ret < 0 && !flood)
		err(1, "send");
}

/* what is alike in all else differs in its IP header */
static void set_header(int fd, int family, unsigned int i)
{
	int tos = i & 1 ? 0x28 : 0x48, ttl = i & 2 ? 60 : 61;

	if (family == AF_INET) {
		set(fd, IPPROTO_IP, IP_TOS, tos, "TOS");
		set(fd, IPPROTO_IP, IP_TTL, ttl, "TTL");
	} else {
		set(fd, IPPROTO_IPV6, IPV6_TCLASS, tos, "class");
		set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ttl, "hop limit");
	}
}

static int do_send(int argc, char **argv)
{
	bool flood = false, single = false, variety = false;
	bool zero_sum = false;
	const struct addrinfo *to = NULL;
	unsigned int sport = 0, rounds = 1;
	int fd, opt, pmtu = -1;
	const char *dev = NULL;
	struct addrinfo *ai;
	static __u8 buf[65536];
	unsigned int i, at, n, seg;
	__u32 seq = 0;

	while ((opt = getopt(argc, argv, "s:n:D:o:mdfzu")) != -1) {
		if (opt == 's')
			sport = atoi(optarg);
		else if (opt == 'n')
			rounds = atoi(optarg);
		else if (opt == 'D')
			dev = optarg;
		else if (opt == 'o')
			opcode_word = strtoul(optarg, NULL, 0);
		else if (opt == 'm')
			variety = true;
		else if (opt == 'd')
			pmtu = 0;
		else if (opt == 'f')
			flood = true;
		else if (opt == 'z')
			zero_sum = true;
		else if (opt == 'u')
			single = true;
		else
			return -1;
	}
	if (argc - optind != 2)
		return -1;
	ai = resolve(SOCK_DGRAM, argv[optind], argv[optind + 1]);
	fd = socket(ai->ai_family, SOCK_DGRAM, 0);
	if (fd < 0)
		err(1, "socket");
	if (dev && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev,
			      strlen(dev)))
		err(1, "%s", dev);
	if (sport)
		bind_port(fd, ai->ai_family, sport);
	if (pmtu >= 0 && ai->ai_family == AF_INET)
		set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT, "PMTU");
	if (zero_sum)
		set(fd, SOL_SOCKET, SO_NO_CHECK, 1, "SO_NO_CHECK");
	set_send_buffer(fd, 32 << 20);
	/* with DF, a socket that is not connected has no IP IDs to give away */
	if (single)
		to = ai;
	else if (connect(fd, ai->ai_addr, ai->ai_addrlen))
		err(1, "%s", argv[optind]);
	/* GSO and no checksum do not go together */
	if (zero_sum)
		single = true;
	while (flood || rounds--) {
		for (i = 0; i < CALLS; i++) {
			seg = calls[i].seg;
			if (variety)
				set_header(fd, ai->ai_family, i);
			for (at = 0; at < calls[i].len; at += n) {
				n = len_of[seq % per_round];
				fill_datagram(buf + at, seq++, n);
				if (single)
					send_all(fd, to, buf + at, n, flood);
			}
			if (single)
				continue;
			set_segment(fd, at > seg ? seg : 0);
			send_all(fd, to, buf, at, flood);
		}
	}
	return 0;
}

/* what arrives at a socket like anybody's */
static int do_recv(int argc, char **argv)
{
	bool transparent = false, gaps = false;
	unsigned int rounds = 1, want;
	static __u8 buf[MAX_PKT];
	struct addrinfo *ai;
	struct pollfd pfd;
	int opt, patience = PATIENCE_MS;
	ssize_t len;

	while ((opt = getopt(argc, argv, "n:o:tgv")) != -1) {
		if (opt == 'n')
			rounds = atoi(optarg);
		else if (opt == 'o')
			opcode_word = strtoul(optarg, NULL, 0);
		else if (opt == 't')
			transparent = true;
		else if (opt == 'g')
			gaps = true;
		else if (opt == 'v')
			verbose = true;
		else
			return -1;
	}
	if (argc - optind != 2)
		return -1;
	want = rounds * per_round;
	ai = resolve(SOCK_DGRAM, argv[optind], argv[optind + 1]);
	pfd.fd = socket(ai->ai_family, SOCK_DGRAM, 0);
	pfd.events = POLLIN;
	if (pfd.fd < 0)
		err(1, "socket");
	if (transparent && ai->ai_family == AF_INET)
		set(pfd.fd, IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT");
	else if (transparent)
		set(pfd.fd, IPPROTO_IPV6, IPV6_TRANSPARENT, 1,
		    "IPV6_TRANSPARENT");
	set_receive_buffer(pfd.fd, 256 << 20);
	if (bind(pfd.fd, ai->ai_addr, ai->ai_addrlen))
		err(1, "%s port %s", argv[optind], argv[optind + 1]);
	say("ready");
	while (seen.good + seen.bad < want) {
		if (poll(&pfd, 1, patience) <= 0)
			break;
		len = recv(pfd.fd, buf, sizeof(buf), 0);
		/* told that nobody listened before */
		if (len < 0 && errno == ECONNREFUSED)
			continue;
		if (len < 0)
			err(1, "recv");
		if (gaps && !next_seq && len >= HEAD_LEN)
			next_seq = get32(buf + 4);
		check_datagram(buf, len);
	}
	print_counts(0);
	return seen.bad || seen.late || (!gaps && seen.gap) ||
	       seen.good != want;
}

/* --- taps ----------------------------------------------------------------- */

struct offload {
	bool partial;
	unsigned int size;
};

static void write_digest(const __u8 *p, size_t len)
{
	unsigned long long h = 0xcbf29ce484222325;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	/* length, hash, and where a record has its packet ID */
	fprintf(digest, "%zu %016llx %u\n", len, h,
		len < HEAD_LEN ? 0 : get32(p + 4));
	seen.good++;
}

/* a UDP packet and the addresses in front of it */
static void check_udp(const __u8 *udp, size_t len, const __u8 *addrs,
		      size_t addrs_len, const struct offload *off,
		      const char *header)
{
	__u32 sum = sum16(IPPROTO_UDP + len, addrs, addrs_len);
	size_t at, part, n = 0;

	if (off->size && len - 8 > off->size) {
		seen.aggregates++;
	} else if (off->partial) {
		seen.unsummed++;
	} else if (get16(udp + 6) && sum16(sum, udp, len) != 0xffff) {
		seen.sums++;
		fault("UDP checksum after number %lu (%lu)", next_seq, len);
	}
	if (get16(udp + 4) != len)
		fault("UDP length %lu of %lu", get16(udp + 4), len);
	if (off->size && len - 8 > off->size &&
	    (udp[8] >> 3 != DATA_V2 || off->size <= RECORD_MIN))
		fault("opcode %lu in a chain of %lu bytes each", udp[8] >> 3,
		      off->size);
	for (at = 8; at < len; at += part, n++) {
		part = len - at;
		if (off->size && part > off->size)
			part = off->size;
		if (get32(udp + at) != get32(udp + 8) && part >= HEAD_LEN)
			fault("opcode words %lx and %lx in a chain",
			      get32(udp + 8), get32(udp + at));
		if (digest) {
			write_digest(udp + at, part);
			continue;
		}
		if (check_datagram(udp + at, part) && headers)
			fprintf(headers, "%u len %zu %s\n",
				get32(udp + at + 4), part, header);
	}
	if (n > seen.longest)
		seen.longest = n;
}

static void tap_frame(const struct virtio_net_hdr *vh, const __u8 *p,
		      size_t len, unsigned int port)
{
	struct offload off = {
		.partial = vh->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM,
	};
	const __u8 *ip = p + ETH_HLEN;
	size_t hlen, tot, addrs_len;
	char header[64];

	if (len < ETH_HLEN + 28)
		return;
	if ((vh->gso_type & ~VIRTIO_NET_HDR_GSO_ECN) ==
	    VIRTIO_NET_HDR_GSO_UDP_L4)
		off.size = vh->gso_size;
	len -= ETH_HLEN;
	switch (get16(p + 12)) {
	case ETH_P_IP:
		hlen = (ip[0] & 15) * 4;
		tot = get16(ip + 2);
		if (ip[9] != IPPROTO_UDP || get16(ip + 6) & 0x3fff)
			return;
		addrs_len = 8;
		snprintf(header, sizeof(header), "tos %x id %x df %x", ip[1],
			 get16(ip + 4), get16(ip + 6));
		break;
	case ETH_P_IPV6:
		hlen = 40;
		tot = 40 + get16(ip + 4);
		if (ip[6] != IPPROTO_UDP)
			return;
		addrs_len = 32;
		snprintf(header, sizeof(header), "flow %x", get32(ip));
		break;
	default:
		return;
	}
	if (len < hlen + 8 || get16(ip + hlen + 2) != port)
		return;
	if (tot > len || tot < hlen + 8 || (off.size && tot != len)) {
		fault("IP length %lu of %lu", tot, len);
		return;
	}
	if (addrs_len == 8 && sum16(0, ip, hlen) != 0xffff) {
		seen.sums++;
		fault("IP checksum after number %lu (%lu)", next_seq, len);
	}
	check_udp(ip + hlen, tot - hlen, addrs_len == 8 ? ip + 12 : ip + 8,
		  addrs_len, &off, header);
}

static unsigned int tap_port = 1194, tap_want;

static void frame(const __u8 *p, size_t len, __be16 proto)
{
	struct virtio_net_hdr vh;

	(void)proto;
	if (len < sizeof(vh))
		return;
	memcpy(&vh, p, sizeof(vh));
	tap_frame(&vh, p + sizeof(vh), len - sizeof(vh), tap_port);
}

static bool seen_all(void)
{
	return tap_want && seen.good + seen.bad >= tap_want;
}

static int do_tap(int argc, char **argv)
{
	struct tap tap = {
		.type = SOCK_RAW,
		.packet = frame,
		.enough = seen_all,
	};
	unsigned int lost;
	int opt;

	while ((opt = getopt(argc, argv, "olvrn:c:p:w:x:")) != -1) {
		if (opt == 'o')
			tap.outgoing = true;
		else if (opt == 'l')
			tap.lazy = true;
		else if (opt == 'v')
			verbose = true;
		else if (opt == 'r')
			tap.repeats = true;
		else if (opt == 'n')
			tap_want = atoi(optarg) * per_round;
		else if (opt == 'c')
			copies = atoi(optarg);
		else if (opt == 'p')
			tap_port = atoi(optarg);
		else if (opt == 'w')
			headers = fopen(optarg, "w");
		else if (opt == 'x')
			digest = fopen(optarg, "w");
		else
			return -1;
	}
	if (argc - optind != 1)
		return -1;
	tap.dev = argv[optind];
	lost = tap_run(&tap);
	if ((headers && fclose(headers)) || (digest && fclose(digest)))
		err(1, "output");
	print_counts(lost);
	return 0;
}

/* --- the checker, checked ------------------------------------------------- */

static int failed;

static void expect(const char *what, unsigned long got, unsigned long want)
{
	if (got == want)
		return;
	fprintf(stderr, "self-test: %s: %lu, not %lu\n", what, got, want);
	failed++;
}

static int do_self_test(int argc, char **argv)
{
	static __u8 buf[4096];
	unsigned int i;

	(void)argc;
	(void)argv;

	for (i = 0; i < 40; i++) {
		fill_datagram(buf, i, len_of[i]);
		check_datagram(buf, len_of[i]);
	}
	expect("good datagrams", seen.good, 40);
	expect("and none bad", seen.bad + seen.late + seen.gap, 0);
	check_datagram(buf, len_of[39]);
	expect("sent twice", seen.late, 1);
	fill_datagram(buf, 42, len_of[42]);
	check_datagram(buf, len_of[42]);
	expect("left out", seen.gap, 2);
	fill_datagram(buf, 43, len_of[43]);
	check_datagram(buf, len_of[43] - 1);
	expect("cut", seen.bad, 1);
	fill_datagram(buf + len_of[43], 44, len_of[44]);
	check_datagram(buf, len_of[43] + len_of[44]);
	expect("joined", seen.bad, 2);
	for (i = 0; i < len_of[43]; i += 41) {
		fill_datagram(buf, 43, len_of[43]);
		seen.bad = 0;
		seen.late = 0;
		buf[i] ^= 4;
		check_datagram(buf, len_of[43]);
		expect("damaged", seen.bad, 1);
	}
	return failed ? 1 : 0;
}

static int do_round(int argc, char **argv)
{
	(void)argv;
	return argc == 1 ? printf("%u\n", per_round) < 0 : -1;
}

static const struct command commands[] = {
	{ "send", do_send },
	{ "recv", do_recv },
	{ "tap", do_tap },
	{ "round", do_round },
	{ "self-test", do_self_test },
};

int main(int argc, char **argv)
{
	init_round();
	return run_command(commands, ARRAY_SIZE(commands), argc, argv,
	"usage: gro-stray send [-s PORT] [-n ROUNDS] [-D DEV] [-o WORD] [-m] [-d] [-u] [-f] [-z] ADDR PORT\n"
	"       gro-stray recv [-n ROUNDS] [-o WORD] [-t] [-g] [-v] ADDR PORT\n"
	"       gro-stray tap [-o] [-l] [-v] [-r] [-n ROUNDS] [-c COPIES] [-p PORT] [-w FILE] [-x FILE] DEV\n"
	"       gro-stray round | self-test\n"
	"  send: -m IP headers of several kinds, -d without DF, -u all of one IP ID, -f on and on, -z no checksum\n"
	"  recv: -t transparent, -g some may be missing\n"
	"  tap:  -o outgoing, -l read nothing before the end, -w headers to FILE,\n"
	"        -r repetitions as well,\n"
	"        -x take any datagrams, length and hash of each to FILE\n"
	"round prints the number of datagrams in a round.\n");
}
