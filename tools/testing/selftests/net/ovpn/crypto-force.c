// SPDX-License-Identifier: GPL-2.0
/* Make an asynchronous instance of an AEAD the one that whoever asks for the
 * AEAD by its name gets, and take it away again.
 */

#include <err.h>
#include <linux/cryptouser.h>
#include <linux/netlink.h>
#include <linux/types.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* the kernel's CRYPTO_ALG_TYPE_AEAD and CRYPTO_ALG_TYPE_MASK */
#define TYPE_AEAD	0x3
#define TYPE_MASK	0xf
#define PRIORITY	1000000
#define PATIENCE_S	20

static struct nl_sock *nl;

static struct nl_msg *begin(int cmd, const char *name, const char *driver)
{
	struct crypto_user_alg alg = {
		.cru_type = TYPE_AEAD,
		.cru_mask = TYPE_MASK,
	};
	struct nl_msg *msg = nlmsg_alloc_simple(cmd, 0);

	if (strlen(name) >= sizeof(alg.cru_name) ||
	    strlen(driver) >= sizeof(alg.cru_driver_name))
		errx(1, "name too long: %s %s", name, driver);
	memcpy(alg.cru_name, name, strlen(name));
	memcpy(alg.cru_driver_name, driver, strlen(driver));
	if (!msg || nlmsg_append(msg, &alg, sizeof(alg), NLMSG_ALIGNTO))
		errx(1, "no message");
	return msg;
}

/* the driver that NAME stands for now: of all, the one of highest priority */
static void look_up(const char *name, char *best)
{
	char driver[CRYPTO_MAX_NAME] = "", value[CRYPTO_MAX_NAME];
	char line[256], key[64];
	int priority, highest = -1;
	bool named = false;
	FILE *f;

	f = fopen("/proc/crypto", "r");
	if (!f)
		err(1, "/proc/crypto");
	/* name, driver and priority are in this order */
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s : %63s", key, value) != 2)
			continue;
		if (!strcmp(key, "name")) {
			named = !strcmp(value, name);
		} else if (!strcmp(key, "driver")) {
			memcpy(driver, value, sizeof(driver));
		} else if (named && !strcmp(key, "priority")) {
			priority = atoi(value);
			if (priority > highest) {
				highest = priority;
				memcpy(best, driver, sizeof(driver));
			}
		}
	}
	fclose(f);
	if (highest < 0)
		errx(1, "no %s", name);
}

static int force(const char *template, const char *name)
{
	char best[CRYPTO_MAX_NAME], driver[2 * CRYPTO_MAX_NAME];
	struct nl_msg *msg;
	int ret;

	/* instances are made when somebody first asks for them */
	ret = nl_send_sync(nl, begin(CRYPTO_MSG_NEWALG, name, ""));
	if (ret < 0 && ret != -NLE_EXIST)
		errx(1, "%s: %s", name, nl_geterror(ret));
	look_up(name, best);
	snprintf(driver, sizeof(driver), "%s(%s)", template, best);
	msg = begin(CRYPTO_MSG_NEWALG, name, driver);
	if (nla_put_u32(msg, CRYPTOCFGA_PRIORITY_VAL, PRIORITY))
		errx(1, "message full");
	ret = nl_send_sync(nl, msg);
	if (ret == -NLE_OBJ_NOTFOUND) {
		warnx("no %s here", template);
		return 4;
	}
	if (ret < 0)
		errx(1, "%s: %s", driver, nl_geterror(ret));
	look_up(name, best);
	if (strcmp(best, driver))
		errx(1, "%s is %s, not %s", name, best, driver);
	puts(driver);
	return 0;
}

/* An instance cannot go before its last user, which may have to wait for RCU
 * and a worker.
 */
static int drop(const char *driver)
{
	time_t end = time(NULL) + PATIENCE_S;
	int ret;

	for (;;) {
		ret = nl_send_sync(nl, begin(CRYPTO_MSG_DELALG, "", driver));
		if (ret != -NLE_BUSY)
			break;
		if (time(NULL) > end)
			errx(1, "%s is still in use", driver);
		usleep(10000);
	}
	if (ret < 0)
		errx(1, "%s: %s", driver, nl_geterror(ret));
	return 0;
}

int main(int argc, char **argv)
{
	nl = nl_socket_alloc();
	if (!nl || nl_connect(nl, NETLINK_CRYPTO)) {
		warn("no NETLINK_CRYPTO");
		/* nothing to test with */
		return 4;
	}
	if (argc == 4 && !strcmp(argv[1], "force"))
		return force(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "drop"))
		return drop(argv[2]);
	fprintf(stderr, "usage: crypto-force force TEMPLATE ALGORITHM\n"
			"       crypto-force drop DRIVER\n"
			"force prints the driver, which drop takes\n");
	return 1;
}
