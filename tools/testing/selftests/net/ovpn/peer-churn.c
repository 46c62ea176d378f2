// SPDX-License-Identifier: GPL-2.0
/* Add a peer with its key, wait until somebody else's traffic goes out through
 * it, delete it in the middle of that traffic, and so on.
 *
 * One process, one socket: with a program started for each step the rounds
 * would take minutes.
 */

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "batch.h"
#include "ovpn-nl.h"

#define PEER		7
#define ANCHOR		8
#define PORT		1195
#define TRAFFIC		64	/* packets that have to go out in a round */
#define PATIENCE_S	20

static void wait_for_traffic(void)
{
	time_t end = time(NULL) + PATIENCE_S;
	unsigned long from = counter("tx_packets");

	while (counter("tx_packets") - from < TRAFFIC)
		if (time(NULL) > end)
			errx(1, "no traffic on %s", dev);
}

int main(int argc, char **argv)
{
	static const __u8 key[KEY_LEN + TAIL_LEN] = { 1, [KEY_LEN] = 2 };
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	struct in_addr vpn;
	int fd, rounds, i;
	bool keep;

	if (argc != 5 || inet_pton(AF_INET, argv[2], &to.sin_addr) != 1 ||
	    inet_pton(AF_INET, argv[3], &vpn) != 1) {
		fprintf(stderr,
			"usage: peer-churn DEV REMOTE VPN-ADDR ROUNDS[k]\n");
		return 1;
	}
	rounds = atoi(argv[4]);
	/* with a k behind the number the last peer is kept: it goes with its
	 * device, or at the latest with the process
	 */
	keep = strchr(argv[4], 'k');
	open_netlink(argv[1]);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		err(1, "socket");
	bind_port(fd, AF_INET, PORT);
	/* a peer that stays keeps the socket, which is slow to let go */
	if (rounds > 1)
		new_peer(fd, ANCHOR, (struct sockaddr *)&to,
			 vpn.s_addr ^ htonl(0x80));
	for (i = 0; i < rounds; i++) {
		new_peer(fd, PEER, (struct sockaddr *)&to, vpn.s_addr);
		new_key(PEER, OVPN_KEY_SLOT_PRIMARY, 0,
			i & 1 ? OVPN_CIPHER_ALG_CHACHA20_POLY1305 :
				OVPN_CIPHER_ALG_AES_GCM, key);
		wait_for_traffic();
		if (!keep || i + 1 < rounds)
			del_peer(PEER);
	}
	printf("%d rounds\n", rounds);
	fflush(stdout);
	if (keep)
		pause();
	return 0;
}
