/* SPDX-License-Identifier: GPL-2.0 */
/* Peers and keys of one device, for programs that have to be faster than
 * ovpn-cli started once for each.
 *
 * For programs of one file, which end where something is not possible.
 */

#ifndef OVPN_NL_H
#define OVPN_NL_H

#include <arpa/inet.h>
#include <err.h>
#include <linux/ovpn.h>
#include <linux/types.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>

#define KEY_LEN		32
#define TAIL_LEN	8

static struct nl_sock *nl;
static int family, ifindex;
static const char *dev;

static inline void open_netlink(const char *name)
{
	dev = name;
	ifindex = if_nametoindex(dev);
	if (!ifindex)
		err(1, "%s", dev);
	nl = nl_socket_alloc();
	if (!nl || genl_connect(nl))
		errx(1, "generic netlink");
	family = genl_ctrl_resolve(nl, OVPN_FAMILY_NAME);
	if (family < 0)
		errx(1, "no ovpn: %s", nl_geterror(family));
}

static inline struct nl_msg *begin(int cmd)
{
	struct nl_msg *msg = nlmsg_alloc();

	if (!msg || !genlmsg_put(msg, 0, 0, family, 0, 0, cmd, 0) ||
	    nla_put_u32(msg, OVPN_A_IFINDEX, ifindex))
		errx(1, "no message");
	return msg;
}

static inline struct nlattr *nest(struct nl_msg *msg, int type)
{
	struct nlattr *attr = nla_nest_start(msg, type | NLA_F_NESTED);

	if (!attr)
		errx(1, "message full");
	return attr;
}

static inline void finish(struct nl_msg *msg, const char *what)
{
	/* frees the message, waits for the answer */
	int ret = nl_send_sync(nl, msg);

	if (ret < 0)
		errx(1, "%s: %s", what, nl_geterror(ret));
}

/* vpn: IPv4 address in network order */
static inline void new_peer(int fd, unsigned int id,
			    const struct sockaddr *remote, __be32 vpn)
{
	const struct sockaddr_in6 *in6 = (const void *)remote;
	const struct sockaddr_in *in4 = (const void *)remote;
	struct nl_msg *msg = begin(OVPN_CMD_PEER_NEW);
	struct nlattr *peer = nest(msg, OVPN_A_PEER);

	nla_put_u32(msg, OVPN_A_PEER_ID, id);
	nla_put_u32(msg, OVPN_A_PEER_SOCKET, fd);
	if (remote->sa_family == AF_INET) {
		nla_put_u32(msg, OVPN_A_PEER_REMOTE_IPV4, in4->sin_addr.s_addr);
	} else {
		nla_put(msg, OVPN_A_PEER_REMOTE_IPV6, sizeof(in6->sin6_addr),
			&in6->sin6_addr);
		if (in6->sin6_scope_id)
			nla_put_u32(msg, OVPN_A_PEER_REMOTE_IPV6_SCOPE_ID,
				    in6->sin6_scope_id);
	}
	nla_put_u16(msg, OVPN_A_PEER_REMOTE_PORT, in4->sin_port);
	nla_put_u32(msg, OVPN_A_PEER_VPN_IPV4, vpn);
	nla_nest_end(msg, peer);
	finish(msg, "new peer");
}

static inline void put_dir(struct nl_msg *msg, int type, const __u8 *key)
{
	struct nlattr *dir = nest(msg, type);

	nla_put(msg, OVPN_A_KEYDIR_CIPHER_KEY, KEY_LEN, key);
	nla_put(msg, OVPN_A_KEYDIR_NONCE_TAIL, TAIL_LEN, key + KEY_LEN);
	nla_nest_end(msg, dir);
}

/* key: KEY_LEN + TAIL_LEN bytes, the same for both directions */
static inline void new_key(unsigned int peer, unsigned int slot,
			   unsigned int id, int cipher, const __u8 *key)
{
	struct nl_msg *msg = begin(OVPN_CMD_KEY_NEW);
	struct nlattr *conf = nest(msg, OVPN_A_KEYCONF);

	nla_put_u32(msg, OVPN_A_KEYCONF_PEER_ID, peer);
	nla_put_u32(msg, OVPN_A_KEYCONF_SLOT, slot);
	nla_put_u32(msg, OVPN_A_KEYCONF_KEY_ID, id);
	nla_put_u32(msg, OVPN_A_KEYCONF_CIPHER_ALG, cipher);
	put_dir(msg, OVPN_A_KEYCONF_ENCRYPT_DIR, key);
	put_dir(msg, OVPN_A_KEYCONF_DECRYPT_DIR, key);
	nla_nest_end(msg, conf);
	finish(msg, "new key");
}

static inline void del_peer(unsigned int id)
{
	struct nl_msg *msg = begin(OVPN_CMD_PEER_DEL);
	struct nlattr *peer = nest(msg, OVPN_A_PEER);

	nla_put_u32(msg, OVPN_A_PEER_ID, id);
	nla_nest_end(msg, peer);
	finish(msg, "delete peer");
}

static inline unsigned long counter(const char *name)
{
	unsigned long n;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", dev,
		 name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lu", &n) != 1)
		err(1, "%s", path);
	fclose(f);
	return n;
}

#endif /* OVPN_NL_H */
