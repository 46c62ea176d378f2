// SPDX-License-Identifier: GPL-2.0
/* End peers, keys, sockets, devices and namespaces in all the ways there are,
 * over and over, while traffic goes through them in both directions.
 *
 *	near (netns)	10.8.0.1 tun0 ---+
 *					 | UDP over lo, in the netns where
 *	far (netns)	10.8.0.2 tun0 ---+ the program was started
 *
 * What is ended is the near one's. One process: with a program started for each
 * step the rounds would take hours.
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/ovpn.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif

#define DEV		"tun0"
#define PEER		7
#define KEY_LEN		32
#define TAIL_LEN	8
#define TRAFFIC		32	/* packets that go each way in a round */
#define PATIENCE_S	120
#define SEGMENT		1000
#define SEGMENTS	8
#define EXPIRING	16	/* peers that expire together */
#define PKTID_START	"/sys/kernel/debug/ovpn_pktid_start"
#define PKTID_LEFT	200

struct side {
	const char *addr;
	const char *peer_addr;
	uint16_t port;
	uint16_t peer_port;
	int netns;
	int fd;			/* UDP socket, in the first namespace */
	int family;
	unsigned int ifindex;
	struct nl_sock *nl;
};

static struct side near = {
	.addr = "10.8.0.1", .peer_addr = "10.8.0.2",
	.port = 1194, .peer_port = 1195,
};

static struct side far = {
	.addr = "10.8.0.2", .peer_addr = "10.8.0.1",
	.port = 1195, .peer_port = 1194,
};

static int first_netns;
static int mode = OVPN_MODE_P2P;
static struct nl_sock *rt_near;

/* --- requests ------------------------------------------------------------ */

static struct nl_msg *begin(const struct side *s, int cmd)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg || !genlmsg_put(msg, 0, 0, s->family, 0, 0, cmd, 0) ||
	    nla_put_u32(msg, OVPN_A_IFINDEX, s->ifindex))
		errx(1, "no message");
	return msg;
}

static struct nlattr *nest(struct nl_msg *msg, int type)
{
	struct nlattr *attr = nla_nest_start(msg, type | NLA_F_NESTED);

	if (!attr)
		errx(1, "message full");
	return attr;
}

static void must(int ret, const char *what)
{
	if (ret < 0)
		errx(1, "%s: %s", what, nl_geterror(ret));
}

static int peer_new(const struct side *s, struct nl_sock *nl, unsigned int id)
{
	struct nl_msg *msg = begin(s, OVPN_CMD_PEER_NEW);
	struct nlattr *peer = nest(msg, OVPN_A_PEER);

	nla_put_u32(msg, OVPN_A_PEER_ID, id);
	nla_put_u32(msg, OVPN_A_PEER_SOCKET, s->fd);
	nla_put_u32(msg, OVPN_A_PEER_REMOTE_IPV4, htonl(INADDR_LOOPBACK));
	nla_put_u16(msg, OVPN_A_PEER_REMOTE_PORT, htons(s->peer_port));
	if (mode == OVPN_MODE_MP)
		nla_put_u32(msg, OVPN_A_PEER_VPN_IPV4,
			    id == PEER ? inet_addr(s->peer_addr) :
			    htonl(0x0a090000 + id));
	nla_nest_end(msg, peer);
	return nl_send_sync(nl, msg);
}

static int peer_cmd(const struct side *s, struct nl_sock *nl, int cmd,
		    unsigned int id)
{
	struct nl_msg *msg = begin(s, cmd);
	struct nlattr *peer = nest(msg, OVPN_A_PEER);

	nla_put_u32(msg, OVPN_A_PEER_ID, id);
	if (cmd == OVPN_CMD_PEER_SET) {
		nla_put_u32(msg, OVPN_A_PEER_KEEPALIVE_INTERVAL, 1);
		nla_put_u32(msg, OVPN_A_PEER_KEEPALIVE_TIMEOUT, 1);
	}
	nla_nest_end(msg, peer);
	return nl_send_sync(nl, msg);
}

static void put_dir(struct nl_msg *msg, int type, uint8_t fill)
{
	uint8_t key[KEY_LEN] = { fill }, tail[TAIL_LEN] = { fill };
	struct nlattr *dir = nest(msg, type);

	nla_put(msg, OVPN_A_KEYDIR_CIPHER_KEY, sizeof(key), key);
	nla_put(msg, OVPN_A_KEYDIR_NONCE_TAIL, sizeof(tail), tail);
	nla_nest_end(msg, dir);
}

static int key_new(const struct side *s, struct nl_sock *nl, unsigned int id,
		   int cipher, uint8_t fill)
{
	struct nl_msg *msg = begin(s, OVPN_CMD_KEY_NEW);
	struct nlattr *conf = nest(msg, OVPN_A_KEYCONF);

	nla_put_u32(msg, OVPN_A_KEYCONF_PEER_ID, id);
	nla_put_u32(msg, OVPN_A_KEYCONF_SLOT, OVPN_KEY_SLOT_PRIMARY);
	nla_put_u32(msg, OVPN_A_KEYCONF_KEY_ID, 0);
	nla_put_u32(msg, OVPN_A_KEYCONF_CIPHER_ALG, cipher);
	put_dir(msg, OVPN_A_KEYCONF_ENCRYPT_DIR, fill);
	put_dir(msg, OVPN_A_KEYCONF_DECRYPT_DIR, fill);
	nla_nest_end(msg, conf);
	return nl_send_sync(nl, msg);
}

static int key_cmd(const struct side *s, struct nl_sock *nl, int cmd)
{
	struct nl_msg *msg = begin(s, cmd);
	struct nlattr *conf = nest(msg, OVPN_A_KEYCONF);

	nla_put_u32(msg, OVPN_A_KEYCONF_PEER_ID, PEER);
	if (cmd != OVPN_CMD_KEY_SWAP)
		nla_put_u32(msg, OVPN_A_KEYCONF_SLOT, OVPN_KEY_SLOT_PRIMARY);
	nla_nest_end(msg, conf);
	return nl_send_sync(nl, msg);
}

/* --- answers ------------------------------------------------------------- */

struct counts {
	uint64_t rx;
	uint64_t tx;
};

static uint64_t get_uint(const struct nlattr *attr)
{
	if (!attr)
		return 0;
	return nla_len(attr) == 8 ? nla_get_u64(attr) : nla_get_u32(attr);
}

static int got_peer(struct nl_msg *msg, void *data)
{
	struct nlattr *attrs[OVPN_A_MAX + 1], *peer[OVPN_A_PEER_MAX + 1];
	struct counts *counts = data;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, OVPN_A_MAX, NULL) ||
	    !attrs[OVPN_A_PEER] ||
	    nla_parse_nested(peer, OVPN_A_PEER_MAX, attrs[OVPN_A_PEER], NULL))
		return NL_SKIP;
	counts->rx = get_uint(peer[OVPN_A_PEER_VPN_RX_PACKETS]);
	counts->tx = get_uint(peer[OVPN_A_PEER_VPN_TX_PACKETS]);
	return NL_OK;
}

static int peer_get(const struct side *s, unsigned int id,
		    struct counts *counts)
{
	int ret;

	nl_socket_modify_cb(s->nl, NL_CB_VALID, NL_CB_CUSTOM, got_peer, counts);
	ret = peer_cmd(s, s->nl, OVPN_CMD_PEER_GET, id);
	/* the first answer is the peer */
	return ret < 0 ? ret : nl_wait_for_ack(s->nl);
}

static bool key_there(const struct side *s)
{
	int ret = key_cmd(s, s->nl, OVPN_CMD_KEY_GET);

	if (ret == -NLE_OBJ_NOTFOUND)
		return false;
	must(ret, "get key");
	must(nl_wait_for_ack(s->nl), "get key");
	return true;
}

/* neither the tables nor anything else may lead to it any more */
static void must_be_gone(const struct side *s, unsigned int id)
{
	struct counts counts;
	int ret = peer_get(s, id, &counts);

	if (ret != -NLE_OBJ_NOTFOUND)
		errx(1, "peer %u after its end: %s", id,
		     ret < 0 ? nl_geterror(ret) : "found");
	ret = key_new(s, s->nl, id, OVPN_CIPHER_ALG_AES_GCM, 1);
	if (ret != -NLE_OBJ_NOTFOUND)
		errx(1, "key for peer %u after its end: %s", id,
		     ret < 0 ? nl_geterror(ret) : "installed");
}

static time_t patience(void)
{
	return time(NULL) + PATIENCE_S;
}

static void wait_traffic(const struct side *s)
{
	time_t end = patience();
	struct counts from, now;

	must(peer_get(s, PEER, &from), "get peer");
	do {
		must(peer_get(s, PEER, &now), "get peer");
		if (time(NULL) > end)
			errx(1, "no traffic: %lu in, %lu out",
			     (unsigned long)(now.rx - from.rx),
			     (unsigned long)(now.tx - from.tx));
	} while (now.rx - from.rx < TRAFFIC || now.tx - from.tx < TRAFFIC);
}

static void wait_gone(const struct side *s, unsigned int id)
{
	struct counts counts;
	time_t end = patience();

	while (peer_get(s, id, &counts) != -NLE_OBJ_NOTFOUND) {
		if (time(NULL) > end)
			errx(1, "peer %u does not go", id);
		usleep(20000);
	}
	must_be_gone(s, id);
}

/* --- setting up ---------------------------------------------------------- */

static void enter(int netns)
{
	if (setns(netns, CLONE_NEWNET))
		err(1, "setns");
}

static int own_netns(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		err(1, "netns");
	return fd;
}

static void dev_up(const char *name, const char *addr)
{
	struct sockaddr_in *sin;
	struct ifreq ifr = { .ifr_name = DEV };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(ifr.ifr_name, name);
	sin = (struct sockaddr_in *)&ifr.ifr_addr;
	if (addr) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = inet_addr(addr);
		if (ioctl(fd, SIOCSIFADDR, &ifr))
			err(1, "address of %s", name);
		sin->sin_addr.s_addr = htonl(0xff000000);
		if (ioctl(fd, SIOCSIFNETMASK, &ifr))
			err(1, "netmask of %s", name);
	}
	ifr.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &ifr))
		err(1, "%s up", name);
	close(fd);
}

static struct nl_sock *nl_open(int proto, int *family)
{
	struct nl_sock *nl = nl_socket_alloc();

	if (!nl || nl_connect(nl, proto))
		errx(1, "no netlink");
	if (family) {
		*family = genl_ctrl_resolve(nl, OVPN_FAMILY_NAME);
		if (*family < 0)
			errx(4, "no ovpn: %s", nl_geterror(*family));
	}
	return nl;
}

static void dev_new(struct nl_sock *rt)
{
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_CREATE |
						NLM_F_EXCL);
	struct nlattr *link, *data;

	nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO);
	nla_put_string(msg, IFLA_IFNAME, DEV);
	link = nla_nest_start(msg, IFLA_LINKINFO);
	nla_put_string(msg, IFLA_INFO_KIND, "ovpn");
	data = nla_nest_start(msg, IFLA_INFO_DATA);
	nla_put_u8(msg, IFLA_OVPN_MODE, mode);
	nla_nest_end(msg, data);
	nla_nest_end(msg, link);
	must(nl_send_sync(rt, msg), "new device");
}

static void dev_del(struct nl_sock *rt, unsigned int ifindex)
{
	struct ifinfomsg info = { .ifi_index = ifindex };
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_DELLINK, 0);

	nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO);
	must(nl_send_sync(rt, msg), "delete device");
}

static void side_dev(struct side *s, struct nl_sock *rt)
{
	enter(s->netns);
	dev_new(rt);
	dev_up(DEV, s->addr);
	s->ifindex = if_nametoindex(DEV);
	enter(first_netns);
}

static void side_socket(struct side *s)
{
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(s->port),
	};
	time_t end = patience();

	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		err(1, "socket");
	/* one that was closed stays bound until ovpn lets go of it */
	while (bind(s->fd, (struct sockaddr *)&local, sizeof(local))) {
		if (errno != EADDRINUSE || time(NULL) > end)
			err(1, "bind");
		usleep(10000);
	}
}

static struct nl_sock *side_init(struct side *s)
{
	struct nl_sock *rt;

	if (unshare(CLONE_NEWNET))
		err(1, "unshare");
	s->netns = own_netns();
	dev_up("lo", NULL);
	s->nl = nl_open(NETLINK_GENERIC, &s->family);
	rt = nl_open(NETLINK_ROUTE, NULL);
	side_dev(s, rt);
	side_socket(s);
	return rt;
}

/* --- traffic ------------------------------------------------------------- */

static int flood_socket(int gso)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
	    setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &gso, sizeof(gso)))
		err(1, "socket to send from");
	return fd;
}

/* what comes of it does not matter: there is not always a way */
static void *flood(void *data)
{
	static const char payload[SEGMENT * SEGMENTS];
	const struct side *s = data;
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = inet_addr(s->peer_addr),
		.sin_port = htons(9),
	}, local = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
	};
	int single, batch, sink;

	enter(s->netns);
	single = flood_socket(0);
	batch = flood_socket(SEGMENT);
	/* nobody reads, nobody is told that there is nobody */
	sink = socket(AF_INET, SOCK_DGRAM, 0);
	if (sink < 0 || bind(sink, (struct sockaddr *)&local, sizeof(local)))
		err(1, "sink");
	for (;;) {
		sendto(single, payload, SEGMENT, 0, (struct sockaddr *)&to,
		       sizeof(to));
		sendto(batch, payload, sizeof(payload), 0,
		       (struct sockaddr *)&to, sizeof(to));
	}
	return NULL;
}

static void start(void)
{
	pthread_t thread;

	first_netns = own_netns();
	dev_up("lo", NULL);
	rt_near = side_init(&near);
	nl_socket_free(side_init(&far));
	must(peer_new(&far, far.nl, PEER), "new far peer");
	if (pthread_create(&thread, NULL, flood, &near) ||
	    pthread_create(&thread, NULL, flood, &far))
		errx(1, "no thread");
}

/* the far end starts anew as well: its replay window is that of the key */
static void key_both(unsigned int round)
{
	int cipher = round & 1 ? OVPN_CIPHER_ALG_CHACHA20_POLY1305 :
				 OVPN_CIPHER_ALG_AES_GCM;

	must(key_new(&near, near.nl, PEER, cipher, 1), "new key");
	must(key_new(&far, far.nl, PEER, cipher, 1), "new far key");
}

static void peer_both(unsigned int round)
{
	must(peer_new(&near, near.nl, PEER), "new peer");
	key_both(round);
	wait_traffic(&near);
}

/* --- the ends ------------------------------------------------------------ */

static void by_netlink(unsigned int round)
{
	int ret;

	peer_both(round);
	must(peer_cmd(&near, near.nl, OVPN_CMD_PEER_DEL, PEER), "delete peer");
	must_be_gone(&near, PEER);
	ret = peer_cmd(&near, near.nl, OVPN_CMD_PEER_DEL, PEER);
	if (ret != -NLE_OBJ_NOTFOUND)
		errx(1, "deleted twice");
}

/* Nothing that comes in is authentic any more, while traffic goes on. In a
 * multi-peer device many expire together.
 */
static void by_keepalive(unsigned int round)
{
	unsigned int id, last = mode == OVPN_MODE_MP ? PEER + EXPIRING - 1 :
						       PEER;

	peer_both(round);
	for (id = PEER; id <= last; id++) {
		if (id != PEER)
			must(peer_new(&near, near.nl, id), "new peer");
		must(key_new(&near, near.nl, id, OVPN_CIPHER_ALG_AES_GCM, 2),
		     "other key");
	}
	for (id = PEER; id <= last; id++)
		must(peer_cmd(&near, near.nl, OVPN_CMD_PEER_SET, id),
		     "set keepalive");
	for (id = PEER; id <= last; id++)
		wait_gone(&near, id);
}

static void by_close(unsigned int round)
{
	peer_both(round);
	close(near.fd);
	must_be_gone(&near, PEER);
	side_socket(&near);
}

static void by_device(unsigned int round)
{
	peer_both(round);
	dev_del(rt_near, near.ifindex);
	side_dev(&near, rt_near);
}

/* it all goes with the process, sockets and namespaces and what is in them */
static void by_exit(unsigned int round)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	if (pipe(ready))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		close(ready[0]);
		if (unshare(CLONE_NEWNET))
			err(1, "unshare");
		start();
		peer_both(round);
		if (write(ready[1], "", 1) != 1)
			err(1, "write");
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "round %u", round);
	close(ready[0]);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* who comes first? */
static pthread_barrier_t line;
static void (*racers[4])(struct nl_sock *nl);

static void *race_run(void *data)
{
	void (*racer)(struct nl_sock *nl) = *(void (**)(struct nl_sock *))data;
	struct nl_sock *nl;

	enter(near.netns);
	nl = nl_open(NETLINK_GENERIC, NULL);
	pthread_barrier_wait(&line);
	racer(nl);
	nl_socket_free(nl);
	return NULL;
}

static void race(void)
{
	pthread_t threads[4];
	unsigned int i, n;

	for (n = 0; n < 4 && racers[n]; n++)
		;
	pthread_barrier_init(&line, NULL, n);
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, race_run, &racers[i]))
			errx(1, "no thread");
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&line);
}

static void race_del(struct nl_sock *nl)
{
	peer_cmd(&near, nl, OVPN_CMD_PEER_DEL, PEER);
}

static void race_close(struct nl_sock *nl)
{
	(void)nl;
	close(near.fd);
}

static void race_key_del(struct nl_sock *nl)
{
	key_cmd(&near, nl, OVPN_CMD_KEY_DEL);
}

static void race_key_new(struct nl_sock *nl)
{
	key_new(&near, nl, PEER, OVPN_CIPHER_ALG_AES_GCM, 1);
}

static void by_race(unsigned int round)
{
	peer_both(round);
	racers[0] = race_del;
	racers[1] = race_close;
	racers[2] = round & 2 ? race_del : race_key_del;
	racers[3] = race_key_new;
	race();
	must_be_gone(&near, PEER);
	side_socket(&near);
}

static void pktid_start(unsigned int id)
{
	FILE *f = fopen(PKTID_START, "w");

	if (!f || fprintf(f, "%u\n", id) < 0 || fclose(f))
		err(4, "%s", PKTID_START);
}

/* the key ends with its last packet ID, or with a request at the same time */
static void by_exhaustion(unsigned int round)
{
	time_t end = patience();

	if (!round)
		peer_both(round);
	pktid_start(UINT32_MAX - PKTID_LEFT);
	key_both(round);
	pktid_start(1);
	if (round & 1) {
		racers[0] = race_key_del;
		racers[1] = round & 2 ? race_key_new : race_key_del;
		racers[2] = NULL;
		race();
	}
	while (key_there(&near)) {
		if (time(NULL) > end)
			errx(1, "the key does not end");
		/* a racer may have put one there that has all its IDs */
		if (round & 1)
			key_cmd(&near, near.nl, OVPN_CMD_KEY_DEL);
	}
}

/* --- allocation failures ------------------------------------------------- */

static int fail_fd;

static void fail_nth(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(fail_fd, text, len, 0) != len)
		err(1, "fail-nth");
}

/* has the failure happened? */
static bool failed(void)
{
	char text[16] = "";

	if (pread(fail_fd, text, sizeof(text) - 1, 0) < 1)
		err(1, "fail-nth");
	fail_nth(0);
	return !strtoul(text, NULL, 10);
}

static unsigned int fail_all(int (*request)(void), void (*undo)(void))
{
	unsigned int n, refused = 0;
	bool hit;
	int ret;

	for (n = 1;; n++) {
		fail_nth(n);
		ret = request();
		hit = failed();
		if (hit && ret < 0)
			refused++;
		undo();
		if (!hit) {
			must(ret, "request without a failure");
			return refused;
		}
	}
}

static int fail_peer(void)
{
	return peer_new(&near, near.nl, PEER);
}

/* one whose answer got lost is there */
static void undo_peer(void)
{
	nl_socket_free(near.nl);
	enter(near.netns);
	near.nl = nl_open(NETLINK_GENERIC, NULL);
	enter(first_netns);
	peer_cmd(&near, near.nl, OVPN_CMD_PEER_DEL, PEER);
	must_be_gone(&near, PEER);
}

static int fail_key(void)
{
	return key_new(&near, near.nl, PEER, OVPN_CIPHER_ALG_AES_GCM, 1);
}

static void undo_key(void)
{
	nl_socket_free(near.nl);
	enter(near.netns);
	near.nl = nl_open(NETLINK_GENERIC, NULL);
	enter(first_netns);
	key_cmd(&near, near.nl, OVPN_CMD_KEY_DEL);
}

static void by_memory(unsigned int round)
{
	unsigned int peers, keys;

	if (!fail_fd)
		fail_fd = open("/proc/thread-self/fail-nth",
			       O_RDWR | O_CLOEXEC);
	if (fail_fd < 0)
		err(4, "fail-nth");
	peers = fail_all(fail_peer, undo_peer);
	must(fail_peer(), "new peer");
	keys = fail_all(fail_key, undo_key);
	key_both(round);
	wait_traffic(&near);
	undo_peer();
	printf("%u peers and %u keys refused for want of memory\n", peers,
	       keys);
}

/* --- how fast ------------------------------------------------------------ */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* no traffic: what counts is the requests */
static void rate(unsigned int peers)
{
	double times[3];
	unsigned int i;

	mode = OVPN_MODE_MP;
	first_netns = own_netns();
	dev_up("lo", NULL);
	nl_socket_free(side_init(&near));
	times[0] = seconds();
	for (i = 1; i <= peers; i++) {
		must(peer_new(&near, near.nl, 100 + i), "new peer");
		must(key_new(&near, near.nl, 100 + i, OVPN_CIPHER_ALG_AES_GCM,
			     1), "new key");
	}
	times[1] = seconds();
	for (i = 1; i <= peers; i++)
		must(peer_cmd(&near, near.nl, OVPN_CMD_PEER_DEL, 100 + i),
		     "delete peer");
	times[2] = seconds();
	printf("%u peers: %.0f added/s %.0f deleted/s\n", peers,
	       peers / (times[1] - times[0]), peers / (times[2] - times[1]));
}

static const struct {
	const char *name;
	void (*round)(unsigned int round);
} ends[] = {
	{ "netlink", by_netlink },
	{ "keepalive", by_keepalive },
	{ "close", by_close },
	{ "exhaustion", by_exhaustion },
	{ "device", by_device },
	{ "netns", by_exit },
	{ "race", by_race },
	{ "memory", by_memory },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	unsigned int i, n, rounds;

	if (argc < 3 || argc > 4)
		goto usage;
	rounds = atoi(argv[2]);
	if (argc == 4)
		mode = strcmp(argv[3], "MP") ? OVPN_MODE_P2P : OVPN_MODE_MP;
	if (!strcmp(argv[1], "rate")) {
		rate(rounds);
		return 0;
	}
	for (i = 0; ends[i].name; i++) {
		if (strcmp(argv[1], ends[i].name))
			continue;
		if (ends[i].round != by_exit)
			start();
		for (n = 0; n < rounds; n++)
			ends[i].round(n);
		printf("%u rounds\n", rounds);
		fflush(stdout);
		/* the threads go with the process */
		return 0;
	}
usage:
	fprintf(stderr, "usage: refs-storm END|rate ROUNDS [P2P|MP]\n");
	return 1;
}
