// SPDX-License-Identifier: GPL-2.0
/* Both ends of a tunnel for the tests of receive batches.
 *
 * "send" is a peer in user space: it builds the records of a script, one
 * character for each, so that what comes before and after what is known, and
 * exactly what has to become of it.
 *
 * "attach" and "churn" own the socket at the other end, as openvpn does: they
 * make the peers, and read what the driver leaves to user space.
 *
 * "recv" is who the packets in the records are for.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <psa/crypto.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>

#include "batch.h"
#include "ovpn-nl.h"

#define CONTROL_V1	4
#define DATA_V1		6
#define DATA_V2		9
#define AAD_LEN		8
#define TAG_LEN		16
#define OVERHEAD	(AAD_LEN + TAG_LEN)

#define PEERS		2
#define KEYS		2
#define PEER_UNDEF	0xffffff

#define INNER_PORT	5001
#define FLOOD_PORT	5002
#define USUAL		600	/* bytes of an inner packet */
#define PATIENCE_MS	10000
#define TRAFFIC		64	/* packets that make a round of churn */

static unsigned int inner_port = INNER_PORT;
static bool chacha;
static bool verbose;

/* every key has its own bytes, and both directions have the same */
static void key_bytes(unsigned int peer, unsigned int id, __u8 *key)
{
	unsigned int i;

	for (i = 0; i < KEY_LEN + TAIL_LEN; i++)
		key[i] = 16 * peer + 8 * id + i;
}

static int open_bound(int family, unsigned int port)
{
	int fd = socket(family, SOCK_DGRAM, 0);

	if (fd < 0)
		err(1, "socket");
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPV6_V6ONLY");
	bind_port(fd, family, port);
	set_receive_buffer(fd, 64 << 20);
	return fd;
}

/* --- records -------------------------------------------------------------- */

static psa_key_id_t keys[PEERS + 1][KEYS];
static psa_algorithm_t alg;

static void import_keys(void)
{
	psa_key_attributes_t attr = PSA_KEY_ATTRIBUTES_INIT;
	__u8 bytes[KEY_LEN + TAIL_LEN];
	unsigned int peer, id;

	alg = chacha ? PSA_ALG_CHACHA20_POLY1305 : PSA_ALG_GCM;
	psa_set_key_usage_flags(&attr, PSA_KEY_USAGE_ENCRYPT);
	psa_set_key_algorithm(&attr, alg);
	psa_set_key_type(&attr, chacha ? PSA_KEY_TYPE_CHACHA20 :
					 PSA_KEY_TYPE_AES);
	if (psa_crypto_init())
		errx(1, "psa_crypto_init");
	for (peer = 1; peer <= PEERS; peer++)
		for (id = 0; id < KEYS; id++) {
			key_bytes(peer, id, bytes);
			if (psa_import_key(&attr, bytes, KEY_LEN,
					   &keys[peer][id]))
				errx(1, "psa_import_key");
		}
}

/* the inner packet: IPv4, UDP, and the number of it */
static void make_inner(__u8 *p, unsigned int peer, __u32 number,
		       unsigned int len)
{
	__u32 sum = 0;
	unsigned int i;

	memset(p, 0, 28);
	p[0] = 0x45;
	put16(p + 2, len);
	p[8] = 64;
	p[9] = IPPROTO_UDP;
	/* 10.9.0.1 and 10.9.0.3 are the peers, 10.9.0.2 is the device */
	put32(p + 12, 0x0a090000 + 2 * peer - 1);
	put32(p + 16, 0x0a090002);
	for (i = 0; i < 20; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(p + 10, ~sum);
	put16(p + 20, 7);
	put16(p + 22, inner_port);
	put16(p + 24, len - 20);
	put32(p + 28, number);
	for (i = 32; i < len; i++)
		p[i] = pattern(number, i);
}

static size_t seal(__u8 *rec, unsigned int opcode, unsigned int key_id,
		   __u32 peer_id, unsigned int peer, __u32 id,
		   const __u8 *inner, size_t len)
{
	__u8 sealed[2048], nonce[12], bytes[KEY_LEN + TAIL_LEN];
	size_t got;

	put32(rec, opcode << 27 | key_id << 24 | peer_id);
	put32(rec + 4, id);
	memcpy(nonce, rec + 4, 4);
	key_bytes(peer, key_id % KEYS, bytes);
	memcpy(nonce + 4, bytes + KEY_LEN, TAIL_LEN);
	if (psa_aead_encrypt(keys[peer][key_id % KEYS], alg, nonce,
			     sizeof(nonce), rec, AAD_LEN, inner, len, sealed,
			     sizeof(sealed), &got))
		errx(1, "cannot encrypt");
	memcpy(rec + AAD_LEN, sealed + len, TAG_LEN);
	memcpy(rec + OVERHEAD, sealed, len);
	return len + OVERHEAD;
}

static const __u8 keepalive[] = {
	0x2a, 0x18, 0x7b, 0xf3, 0x64, 0x1e, 0xb4, 0xcb,
	0x07, 0xed, 0x2d, 0x0a, 0x98, 0x1f, 0xc7, 0x48
};

static __u32 next_id[PEERS + 1][KEYS];
static __u32 next_number;
static unsigned int good, dropped, control, alive;

/* one element of the script; 0 for none */
static size_t make(char what, __u8 *rec)
{
	unsigned int peer = 1, key = 0, wire_key = 0, len = USUAL;
	static __u8 last[2048];
	static size_t last_len;
	__u32 peer_id = 1;
	__u8 inner[2048];
	size_t n;

	switch (what) {
	case 'c':
		control++;
		put32(rec, CONTROL_V1 << 27 | 1);
		put32(rec + 4, control);
		for (n = 8; n < USUAL; n++)
			rec[n] = pattern(control, n);
		return USUAL;
	case 'k':
		alive++;
		return seal(rec, DATA_V2, 0, 1, 1, ++next_id[1][0], keepalive,
			    sizeof(keepalive));
	case 'z':
		dropped++;
		put32(rec, DATA_V2 << 27);
		return 3;
	case 'r':
		if (!last_len)
			return 0;
		dropped++;
		memcpy(rec, last, last_len);
		return last_len;
	case '0':
		dropped++;
		return seal(rec, DATA_V2, 0, 1, 1, ++next_id[1][0], keepalive,
			    0);
	case 'j':
		dropped++;
		put32(rec, DATA_V2 << 27 | 1);
		for (n = 4; n < USUAL; n++)
			rec[n] = pattern(dropped, n);
		return USUAL;
	case 'a':
	case 'x':
	case '1':
		break;
	case 's':
		len = USUAL / 2;
		break;
	case 'l':
		len = USUAL + USUAL / 2;
		break;
	case 'b':
		key = 1;
		wire_key = 1;
		break;
	case 'y':
		wire_key = 4;
		break;
	case 'p':
		peer = 2;
		peer_id = 2;
		break;
	case 'q':
		peer_id = 77;
		break;
	case 'u':
		peer_id = PEER_UNDEF;
		break;
	default:
		return 0;
	}
	if (strchr("x1yq", what)) {
		make_inner(inner, peer, 0xdead, len);
		dropped++;
	} else {
		make_inner(inner, peer, next_number++, len);
		good++;
	}
	n = seal(rec, what == '1' ? DATA_V1 : DATA_V2, wire_key, peer_id, peer,
		 ++next_id[peer][key], inner, len);
	/* any bit behind the header, another one each time */
	if (what == 'x') {
		rec[AAD_LEN + dropped * 37 % (n - AAD_LEN)] ^= 1 << dropped % 8;
	} else if (what == 'a') {
		memcpy(last, rec, n);
		last_len = n;
	}
	return n;
}

/* the records of a script, all of one length, in one send with UDP GSO: they
 * arrive together, however slow it was to make them
 */
static void send_together(int fd, const struct addrinfo *ai, const char *script)
{
	static __u8 together[65507];
	size_t at = 0, len, seg = 0;
	__u8 rec[2048];

	for (; *script; script++) {
		len = make(*script, rec);
		if (!seg)
			seg = len;
		if (!len || len != seg || at + len > sizeof(together))
			errx(1, "%c cannot be sent together", *script);
		memcpy(together + at, rec, len);
		at += len;
	}
	set_segment(fd, seg);
	if (sendto(fd, together, at, 0, ai->ai_addr, ai->ai_addrlen) < 0)
		err(1, "sendto");
}

static int do_send(int argc, char **argv)
{
	bool zero_sum = false, flood = false, keep = false, gso = false;
	unsigned int rounds = 1, sport = 1194, i;
	struct addrinfo *ai;
	int fd[2], opt, at = 0;
	const char *p;
	__u8 rec[2048];
	size_t len;

	while ((opt = getopt(argc, argv, "n:p:i:fzgkc")) != -1) {
		if (opt == 'n')
			rounds = atoi(optarg);
		else if (opt == 'p')
			sport = atoi(optarg);
		else if (opt == 'i')
			next_id[1][0] = strtoul(optarg, NULL, 0);
		else if (opt == 'f')
			flood = true;
		else if (opt == 'z')
			zero_sum = true;
		else if (opt == 'g')
			gso = true;
		else if (opt == 'k')
			keep = true;
		else if (opt == 'c')
			chacha = true;
		else
			return -1;
	}
	if (argc - optind != 3)
		return -1;
	/* what is left of it when it ends is not for who reads later */
	if (flood)
		inner_port = FLOOD_PORT;
	import_keys();
	ai = resolve(SOCK_DGRAM, argv[optind], argv[optind + 1]);
	for (i = 0; i < 2; i++) {
		fd[i] = open_bound(ai->ai_family, sport + 2 * i);
		set_send_buffer(fd[i], 32 << 20);
		if (zero_sum)
			set(fd[i], SOL_SOCKET, SO_NO_CHECK, 1, "SO_NO_CHECK");
	}
	if (gso) {
		send_together(fd[0], ai, argv[optind + 2]);
		rounds = 0;
	}
	while (flood || rounds--)
		for (p = argv[optind + 2]; *p; p++) {
			if (*p == 'F')
				at ^= 1;
			len = make(*p, rec);
			if (!len)
				continue;
			while (sendto(fd[at], rec, len, 0, ai->ai_addr,
				      ai->ai_addrlen) < 0)
				if (errno != ECONNREFUSED && !flood)
					err(1, "sendto");
		}
	if (keep)
		keep_cpu();
	printf("good=%u dropped=%u control=%u alive=%u\n", good, dropped,
	       control, alive);
	return 0;
}

/* --- who the packets are for ---------------------------------------------- */

static int do_recv(int argc, char **argv)
{
	unsigned int want, wrong = 0, disorder = 0, n = 0, i;
	bool any_order = false;
	static __u8 buf[65536];
	struct pollfd pfd = { .events = POLLIN };
	FILE *list = NULL;
	__u32 number;
	ssize_t len;
	int opt;

	while ((opt = getopt(argc, argv, "aw:")) != -1) {
		if (opt == 'a')
			any_order = true;
		else if (opt == 'w')
			list = fopen(optarg, "w");
		else
			return -1;
	}
	if (argc - optind != 1)
		return -1;
	want = atoi(argv[optind]);
	pfd.fd = open_bound(AF_INET, INNER_PORT);
	say("ready");
	while (n < want && poll(&pfd, 1, PATIENCE_MS) > 0) {
		len = recv(pfd.fd, buf, sizeof(buf), 0);
		if (len < 0)
			err(1, "recv");
		if (len < 4) {
			wrong++;
			continue;
		}
		number = get32(buf);
		for (i = 4; i < len; i++)
			if (buf[i] != pattern(number, i + 28))
				break;
		if (i < len)
			wrong++;
		if (number != n)
			disorder++;
		if (list)
			fprintf(list, "%u\n", number);
		n++;
	}
	/* what comes on top of it */
	while (poll(&pfd, 1, 200) > 0 && recv(pfd.fd, buf, sizeof(buf), 0) >= 0)
		n++;
	if (list)
		fclose(list);
	printf("received=%u wrong=%u disorder=%u\n", n, wrong, disorder);
	return n != want || wrong || (disorder && !any_order);
}

/* --- the driver's end ----------------------------------------------------- */

static void new_peer_at(int fd, unsigned int id, const struct sockaddr *remote)
{
	new_peer(fd, id, remote, htonl(0x0a090000 + 2 * id - 1));
}

static void new_key_of(unsigned int peer, unsigned int id)
{
	__u8 key[KEY_LEN + TAIL_LEN];

	key_bytes(peer, id, key);
	new_key(peer, id ? OVPN_KEY_SLOT_SECONDARY : OVPN_KEY_SLOT_PRIMARY, id,
		chacha ? OVPN_CIPHER_ALG_CHACHA20_POLY1305 :
			 OVPN_CIPHER_ALG_AES_GCM, key);
}

/* what the driver leaves to user space has to be control packets, in order */
static int do_attach(int argc, char **argv)
{
	struct pollfd pfd[2] = { { .events = POLLIN }, { .events = POLLIN } };
	unsigned int peers = 1, n = 0, bad = 0, id, i;
	static __u8 buf[65536];
	struct addrinfo *ai;
	sigset_t stop;
	ssize_t len;
	int opt;

	while ((opt = getopt(argc, argv, "p:cv")) != -1) {
		if (opt == 'p')
			peers = atoi(optarg);
		else if (opt == 'c')
			chacha = true;
		else if (opt == 'v')
			verbose = true;
		else
			return -1;
	}
	if (argc - optind != 3 || peers > PEERS)
		return -1;
	ai = resolve(SOCK_DGRAM, argv[optind + 1], argv[optind + 2]);
	open_netlink(argv[optind]);
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	pfd[0].fd = signalfd(-1, &stop, 0);
	if (pfd[0].fd < 0)
		err(1, "signalfd");
	pfd[1].fd = open_bound(ai->ai_family, 1194);
	for (id = 1; id <= peers; id++) {
		new_peer_at(pfd[1].fd, id, ai->ai_addr);
		new_key_of(id, 0);
		new_key_of(id, 1);
	}
	say("ready");
	for (;;) {
		if (poll(pfd, 2, -1) < 0)
			err(1, "poll");
		if (!(pfd[1].revents & POLLIN)) {
			if (pfd[0].revents & POLLIN)
				break;
			continue;
		}
		len = recv(pfd[1].fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len < 0)
			continue;
		n++;
		if (len != USUAL || get32(buf) != (CONTROL_V1 << 27 | 1) ||
		    get32(buf + 4) != n) {
			bad++;
			if (verbose)
				fprintf(stderr, "%zd bytes, %08x\n", len,
					get32(buf));
			continue;
		}
		for (i = 8; i < USUAL; i++)
			if (buf[i] != pattern(n, i))
				break;
		if (i < USUAL)
			bad++;
	}
	printf("control=%u bad=%u packets=%u\n", n, bad, n);
	return 0;
}

static unsigned long arrived(void)
{
	return counter("rx_packets") + counter("rx_dropped");
}

/* Without a peer the socket is like anybody's: each record comes by itself.
 * The first byte and the length tell records from what was joined or cut.
 */
static unsigned int read_plain(int fd, unsigned int want)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	static __u8 buf[65536];
	unsigned int n, bad = 0;
	ssize_t len;

	for (n = 0; n < want; n++) {
		if (poll(&pfd, 1, PATIENCE_MS) <= 0)
			errx(1, "the socket without a peer reads nothing");
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0 && errno == ECONNREFUSED)
			continue;
		if (len < 0)
			err(1, "recv");
		if (len != USUAL + OVERHEAD || buf[0] >> 3 != DATA_V2) {
			bad++;
			fprintf(stderr, "%zd bytes, opcode %u\n", len,
				buf[0] >> 3);
		}
	}
	return bad;
}

/* attach, detach, read, attach: one socket, or a new one each time */
static int do_churn(int argc, char **argv)
{
	unsigned int rounds = 1, bad = 0, i;
	bool close_first = false, reopen = false, encap_off = false;
	struct addrinfo *ai;
	unsigned long from;
	int fd = -1, opt, waited;

	while ((opt = getopt(argc, argv, "n:xeo")) != -1) {
		if (opt == 'n')
			rounds = atoi(optarg);
		else if (opt == 'x')
			close_first = true;
		else if (opt == 'e')
			encap_off = true;
		else if (opt == 'o')
			reopen = true;
		else
			return -1;
	}
	if (argc - optind != 3)
		return -1;
	ai = resolve(SOCK_DGRAM, argv[optind + 1], argv[optind + 2]);
	open_netlink(argv[optind]);
	for (i = 0; i < rounds; i++) {
		if (fd < 0)
			fd = open_bound(ai->ai_family, 1194);
		new_peer_at(fd, 1, ai->ai_addr);
		new_key_of(1, 0);
		from = arrived();
		for (waited = 0; arrived() - from < TRAFFIC; waited++) {
			if (waited > PATIENCE_MS)
				errx(1, "no traffic on %s", dev);
			usleep(1000);
		}
		if (close_first) {
			/* told of it, the driver drops the peer, too */
			if (encap_off)
				set(fd, IPPROTO_UDP, UDP_ENCAP, 0, "UDP_ENCAP");
			close(fd);
			fd = -1;
			if (encap_off)
				del_peer(1);
			continue;
		}
		del_peer(1);
		bad += read_plain(fd, TRAFFIC);
		if (reopen) {
			close(fd);
			fd = -1;
		}
	}
	printf("rounds=%u bad=%u\n", rounds, bad);
	return bad != 0;
}

static const struct command commands[] = {
	{ "send", do_send },
	{ "recv", do_recv },
	{ "attach", do_attach },
	{ "churn", do_churn },
};

int main(int argc, char **argv)
{
	return run_command(commands, ARRAY_SIZE(commands), argc, argv,
	"usage: gro-peer send [-n ROUNDS] [-p PORT] [-i ID] [-f] [-z] [-g] [-k] [-c] ADDR PORT SCRIPT\n"
	"       gro-peer recv [-a] [-w FILE] COUNT\n"
	"       gro-peer attach [-p PEERS] [-c] [-v] DEV ADDR PORT\n"
	"       gro-peer churn [-n ROUNDS] [-x [-e]] [-o] DEV ADDR PORT\n"
	"a record for each character of SCRIPT:\n"
	"  a, s, l  usual, short, long    b  of the other key    p  of peer 2\n"
	"  u  without a peer ID           k  keepalive           c  control packet\n"
	"to be dropped:\n"
	"  x  broken   r  the last a again   y  unknown key   q  unknown peer\n"
	"  j  junk     0  empty              1  DATA_V1       z  three bytes\n"
	"  F  from here on from another port\n"
	"send: -g all in one send with UDP GSO, -k keeps the CPU afterwards\n"
	"recv: -a in any order, -w writes the numbers in it\n"
	"churn: -x closes the socket under the peer, -o after the peer\n"
	"  -e  ends its encapsulation before\n");
}
