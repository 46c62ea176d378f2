// SPDX-License-Identifier: GPL-2.0
/*
 * tunnel: one end of an ovpn tunnel, with fixed keys and no handshake.
 *
 *	tunnel DEV p2p|mp udp|listen|connect CIPHER DIR LOCAL PORT REMOTE RPORT
 *	       [PEERS VPN4 VPN6]
 *
 * Makes the device, its transport socket and its peers, then leaves a process
 * behind that holds the socket.  All PEERS of an mp device have the same remote
 * end and differ in ID; the first has the inner addresses VPN4 and VPN6, each
 * further one the next address.  DIR is 0 at one end and 1 at the other.
 *
 * The kernel's own ovpn-cli does not do: it knows no 128-bit keys, and needs
 * two programs started for every peer.
 */

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/ovpn.h>
#include <linux/rtnetlink.h>

/* what Debian's linux/if_link.h does not know yet */
enum { MODE_P2P, MODE_MP };
enum { ATTRIBUTE_MODE = 1 };

struct msg {
	struct nlmsghdr h;
	char data[2048];
};

static uint32_t sequence;

static void start(struct msg *m, int type, int flags, const void *head,
		  size_t len)
{
	memset(m, 0, sizeof(*m));
	m->h.nlmsg_type = type;
	m->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	m->h.nlmsg_seq = ++sequence;
	m->h.nlmsg_len = NLMSG_LENGTH(len);
	memcpy(NLMSG_DATA(&m->h), head, len);
}

static struct nlattr *put(struct msg *m, int type, const void *data, size_t len)
{
	struct nlattr *a = (void *)((char *)m + NLMSG_ALIGN(m->h.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	m->h.nlmsg_len = NLMSG_ALIGN(m->h.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void put_u32(struct msg *m, int type, uint32_t value)
{
	put(m, type, &value, sizeof(value));
}

static struct nlattr *nest(struct msg *m, int type)
{
	return put(m, type | NLA_F_NESTED, NULL, 0);
}

static void nest_end(struct msg *m, struct nlattr *a)
{
	a->nla_len = (char *)m + m->h.nlmsg_len - (char *)a;
}

/* returns the first message of the answer, or ends the program */
static void ask(int nl, struct msg *m, const char *what)
{
	static char buf[8192];
	bool answered = false;

	if (send(nl, m, m->h.nlmsg_len, 0) < 0)
		err(1, "%s", what);
	while (1) {
		struct nlmsghdr *h = (void *)buf;
		int len = recv(nl, buf, sizeof(buf), 0);

		if (len < 0)
			err(1, "%s", what);
		for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			struct nlmsgerr *e = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_ERROR) {
				errno = -e->error;
				if (errno)
					err(1, "%s", what);
				return;
			}
			if (!answered && h->nlmsg_len <= sizeof(*m))
				memcpy(m, h, h->nlmsg_len);
			answered = true;
		}
	}
}

static int netlink(int protocol)
{
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK };
	int nl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	if (nl < 0 || bind(nl, (void *)&sa, sizeof(sa)))
		err(1, "netlink");
	return nl;
}

static void make_device(const char *name, uint8_t mode)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	struct nlattr *info, *data;
	int nl = netlink(NETLINK_ROUTE);
	struct msg m;

	start(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, sizeof(ifi));
	put(&m, IFLA_IFNAME, name, strlen(name) + 1);
	info = nest(&m, IFLA_LINKINFO);
	put(&m, IFLA_INFO_KIND, "ovpn", sizeof("ovpn"));
	data = nest(&m, IFLA_INFO_DATA);
	put(&m, ATTRIBUTE_MODE, &mode, sizeof(mode));
	nest_end(&m, data);
	nest_end(&m, info);
	ask(nl, &m, "making the device");
	close(nl);
}

static int family_id(int nl)
{
	struct genlmsghdr g = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	struct msg m;
	struct nlattr *a;
	int left;

	start(&m, GENL_ID_CTRL, 0, &g, sizeof(g));
	put(&m, CTRL_ATTR_FAMILY_NAME, OVPN_FAMILY_NAME,
	    sizeof(OVPN_FAMILY_NAME));
	ask(nl, &m, "looking for the ovpn family");
	a = (void *)((char *)NLMSG_DATA(&m.h) + GENL_HDRLEN);
	left = m.h.nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	while (left >= NLA_HDRLEN) {
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)((char *)a + NLA_HDRLEN);
		left -= NLA_ALIGN(a->nla_len);
		a = (void *)((char *)a + NLA_ALIGN(a->nla_len));
	}
	errx(1, "the kernel has no ovpn");
}

struct end {
	struct sockaddr_storage sa;
	socklen_t len;
};

static struct end address(const char *text, const char *port)
{
	struct end e = { 0 };
	struct sockaddr_in *in = (void *)&e.sa;
	struct sockaddr_in6 *in6 = (void *)&e.sa;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(atoi(port));
		e.len = sizeof(*in);
	} else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(atoi(port));
		e.len = sizeof(*in6);
	} else {
		errx(1, "no address: %s", text);
	}
	return e;
}

static int transport(const char *how, struct end *local, struct end *remote)
{
	bool udp = !strcmp(how, "udp");
	int one = 1, s, c;

	s = socket(local->sa.ss_family, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
	if (s < 0 ||
	    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(s, (void *)&local->sa, local->len))
		err(1, "transport socket");
	if (udp)
		return s;
	if (!strcmp(how, "listen")) {
		if (listen(s, 1))
			err(1, "listen");
		c = accept(s, NULL, NULL);
		if (c < 0)
			err(1, "accept");
		close(s);
		s = c;
	} else if (connect(s, (void *)&remote->sa, remote->len)) {
		err(1, "connect");
	}
	if (setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		err(1, "TCP_NODELAY");
	return s;
}

static void direction(struct msg *m, int type, int which, size_t key_len)
{
	struct nlattr *dir = nest(m, type);
	uint8_t key[32], tail[OVPN_NONCE_TAIL_SIZE];

	memset(key, 0x41 + which, sizeof(key));
	memset(tail, 0x61 + which, sizeof(tail));
	put(m, OVPN_A_KEYDIR_CIPHER_KEY, key, key_len);
	put(m, OVPN_A_KEYDIR_NONCE_TAIL, tail, sizeof(tail));
	nest_end(m, dir);
}

static const struct {
	const char *name;
	int alg;
	size_t key_len;
} ciphers[] = {
	{ "AES-128-GCM", OVPN_CIPHER_ALG_AES_GCM, 16 },
	{ "AES-256-GCM", OVPN_CIPHER_ALG_AES_GCM, 32 },
	{ "CHACHA20-POLY1305", OVPN_CIPHER_ALG_CHACHA20_POLY1305, 32 },
};

int main(int argc, char **argv)
{
	struct genlmsghdr g = { .version = OVPN_FAMILY_VERSION };
	struct in6_addr vpn6 = { 0 };
	struct in_addr vpn4 = { 0 };
	size_t i, cipher = 0, ncipher = sizeof(ciphers) / sizeof(ciphers[0]);
	struct end local, remote;
	int nl, family, sock, ifindex;
	uint32_t id, peers = 1;
	struct nlattr *a;
	struct msg m;
	bool mp, udp;

	if (argc != 10 && argc != 13)
		errx(1, "usage: tunnel DEV p2p|mp udp|listen|connect CIPHER "
		     "DIR LOCAL PORT REMOTE RPORT [PEERS VPN4 VPN6]");
	mp = !strcmp(argv[2], "mp");
	udp = !strcmp(argv[3], "udp");
	for (i = 0; i < ncipher && strcmp(ciphers[i].name, argv[4]); i++)
		;
	if (i == ncipher)
		errx(1, "unknown cipher %s", argv[4]);
	cipher = i;
	local = address(argv[6], argv[7]);
	remote = address(argv[8], argv[9]);
	if (argc == 13) {
		peers = atoi(argv[10]);
		if (inet_pton(AF_INET, argv[11], &vpn4) != 1 ||
		    inet_pton(AF_INET6, argv[12], &vpn6) != 1)
			errx(1, "no inner address: %s %s", argv[11], argv[12]);
	}

	make_device(argv[1], mp ? MODE_MP : MODE_P2P);
	ifindex = if_nametoindex(argv[1]);
	sock = transport(argv[3], &local, &remote);
	nl = netlink(NETLINK_GENERIC);
	family = family_id(nl);

	for (id = 1; id <= peers; id++) {
		g.cmd = OVPN_CMD_PEER_NEW;
		start(&m, family, 0, &g, sizeof(g));
		put_u32(&m, OVPN_A_IFINDEX, ifindex);
		a = nest(&m, OVPN_A_PEER);
		put_u32(&m, OVPN_A_PEER_ID, id);
		put_u32(&m, OVPN_A_PEER_SOCKET, sock);
		if (udp && remote.sa.ss_family == AF_INET) {
			struct sockaddr_in *in = (void *)&remote.sa;

			put(&m, OVPN_A_PEER_REMOTE_IPV4, &in->sin_addr, 4);
			put(&m, OVPN_A_PEER_REMOTE_PORT, &in->sin_port, 2);
		} else if (udp) {
			struct sockaddr_in6 *in6 = (void *)&remote.sa;

			put(&m, OVPN_A_PEER_REMOTE_IPV6, &in6->sin6_addr, 16);
			put(&m, OVPN_A_PEER_REMOTE_PORT, &in6->sin6_port, 2);
		}
		if (mp) {
			struct in_addr v4;
			struct in6_addr v6 = vpn6;
			uint32_t low;

			v4.s_addr = htonl(ntohl(vpn4.s_addr) + id - 1);
			memcpy(&low, v6.s6_addr + 12, 4);
			low = htonl(ntohl(low) + id - 1);
			memcpy(v6.s6_addr + 12, &low, 4);
			put(&m, OVPN_A_PEER_VPN_IPV4, &v4, 4);
			put(&m, OVPN_A_PEER_VPN_IPV6, &v6, 16);
		}
		nest_end(&m, a);
		ask(nl, &m, "adding a peer");

		g.cmd = OVPN_CMD_KEY_NEW;
		start(&m, family, 0, &g, sizeof(g));
		put_u32(&m, OVPN_A_IFINDEX, ifindex);
		a = nest(&m, OVPN_A_KEYCONF);
		put_u32(&m, OVPN_A_KEYCONF_PEER_ID, id);
		put_u32(&m, OVPN_A_KEYCONF_SLOT, OVPN_KEY_SLOT_PRIMARY);
		put_u32(&m, OVPN_A_KEYCONF_KEY_ID, 0);
		put_u32(&m, OVPN_A_KEYCONF_CIPHER_ALG, ciphers[cipher].alg);
		direction(&m, OVPN_A_KEYCONF_ENCRYPT_DIR, atoi(argv[5]),
			  ciphers[cipher].key_len);
		direction(&m, OVPN_A_KEYCONF_DECRYPT_DIR, !atoi(argv[5]),
			  ciphers[cipher].key_len);
		nest_end(&m, a);
		ask(nl, &m, "installing a key");
	}

	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		pause();
	}
	return 0;
}
