// SPDX-License-Identifier: GPL-2.0
/* groloop: what GRO of IPv6 costs
 *
 *	echo "tcp 4 -1 100" > /sys/kernel/debug/groloop
 *	cat /sys/kernel/debug/groloop
 *
 * takes tcp or udp, the number of extension headers of the (outer) IPv6 header,
 * that of an inner one (-1: there is none) and a number of rounds, and answers
 * with one line of key=value pairs.  In each round GROLOOP_PACKETS packets, made
 * before the clock starts, go through napi_gro_receive(), and what they have
 * become through napi_gro_flush().  Headers are linear and the payload is in a
 * page, as a NIC's driver gives them.  What is told is the cheapest round: the
 * others meet an allocator in another state.
 *
 * With net.core.gro_normal_batch as it is, the aggregate would go up the stack
 * in the middle of the measurement: set it above GROLOOP_PACKETS first.
 */

#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <linux/tcp.h>
#include <linux/timex.h>
#include <linux/udp.h>
#include <net/gro.h>

#define GROLOOP_PACKETS		16
#define GROLOOP_PAYLOAD		1000
#define GROLOOP_EXT_MAX		8

/**
 * struct groloop - one measurement
 * @dev: the device that the packets come from
 * @napi: its NAPI, whose GRO state is used
 * @page: the payload of all packets
 * @proto: IPPROTO_TCP or IPPROTO_UDP
 * @ext: number of extension headers of the outer IPv6 header
 * @inner_ext: the same of the inner one, -1 without
 * @receive: least instructions that receiving the packets took
 * @complete: least instructions that completing the aggregate took
 */
struct groloop {
	struct net_device *dev;
	struct napi_struct napi;
	struct page *page;
	u8 proto;
	int ext;
	int inner_ext;
	u64 receive;
	u64 complete;
};

static DEFINE_MUTEX(groloop_lock);
/* the last answer, under the lock */
static char groloop_answer[256];
static struct dentry *groloop_file;

static int groloop_poll(struct napi_struct *napi, int budget)
{
	return 0;
}

/* length of what follows the IPv6 header that is put last */
static unsigned int groloop_ip6_len(int ext)
{
	return sizeof(struct ipv6hdr) + 8 * ext;
}

static void groloop_put_ip6(struct sk_buff *skb, int ext, u8 proto,
			    unsigned int payload)
{
	struct ipv6hdr *ip6 = skb_put_zero(skb, groloop_ip6_len(ext));
	u8 *next = &ip6->nexthdr;
	int i;

	ip6->version = 6;
	ip6->hop_limit = 64;
	ip6->payload_len = htons(8 * ext + payload);
	ip6->saddr.s6_addr[15] = 1;
	ip6->daddr.s6_addr[15] = 2;
	for (i = 0; i < ext; i++) {
		u8 *opt = (u8 *)(ip6 + 1) + 8 * i;

		*next = IPPROTO_DSTOPTS;
		/* PadN of 4 bytes */
		opt[2] = 1;
		opt[3] = 4;
		next = &opt[0];
	}
	*next = proto;
}

static struct sk_buff *groloop_packet(struct groloop *loop, unsigned int i)
{
	unsigned int payload = GROLOOP_PAYLOAD;
	struct sk_buff *skb;

	payload += loop->proto == IPPROTO_TCP ? sizeof(struct tcphdr) :
						sizeof(struct udphdr);
	skb = napi_alloc_skb(&loop->napi, 512);
	if (!skb)
		return NULL;
	skb_put_zero(skb, ETH_HLEN);
	skb->dev = loop->dev;
	skb_reset_mac_header(skb);
	__skb_pull(skb, ETH_HLEN);
	skb->protocol = htons(ETH_P_IPV6);
	skb->ip_summed = CHECKSUM_UNNECESSARY;

	if (loop->inner_ext < 0) {
		groloop_put_ip6(skb, loop->ext, loop->proto, payload);
	} else {
		groloop_put_ip6(skb, loop->ext, IPPROTO_IPV6, payload +
				groloop_ip6_len(loop->inner_ext));
		groloop_put_ip6(skb, loop->inner_ext, loop->proto, payload);
	}
	if (loop->proto == IPPROTO_TCP) {
		struct tcphdr *th = skb_put_zero(skb, sizeof(*th));

		th->source = htons(1);
		th->dest = htons(2);
		th->seq = htonl(1 + i * GROLOOP_PAYLOAD);
		th->ack = 1;
		th->doff = sizeof(*th) / 4;
	} else {
		struct udphdr *uh = skb_put_zero(skb, sizeof(*uh));

		uh->source = htons(1);
		uh->dest = htons(2);
		uh->len = htons(payload);
		uh->check = htons(1);
	}
	get_page(loop->page);
	skb_add_rx_frag(skb, 0, loop->page, 0, GROLOOP_PAYLOAD, PAGE_SIZE);
	return skb;
}

static int groloop_round(struct groloop *loop)
{
	struct sk_buff *packet[GROLOOP_PACKETS], *skb;
	struct gro_node *gro = &loop->napi.gro;
	cycles_t start, middle, end;
	unsigned long flags;
	unsigned int i;
	int err = 0;

	for (i = 0; i < GROLOOP_PACKETS; i++) {
		packet[i] = groloop_packet(loop, i);
		if (!packet[i]) {
			while (i--)
				kfree_skb(packet[i]);
			return -ENOMEM;
		}
	}

	/* no tick in between */
	local_irq_save(flags);
	start = get_cycles();
	for (i = 0; i < GROLOOP_PACKETS; i++)
		napi_gro_receive(&loop->napi, packet[i]);
	middle = get_cycles();
	napi_gro_flush(&loop->napi, false);
	end = get_cycles();
	local_irq_restore(flags);

	skb = list_first_entry_or_null(&gro->rx_list, struct sk_buff, list);
	if (!skb || skb_shinfo(skb)->gso_segs != GROLOOP_PACKETS ||
	    !list_is_singular(&gro->rx_list))
		err = -EBADMSG;
	while (!list_empty(&gro->rx_list)) {
		skb = list_first_entry(&gro->rx_list, struct sk_buff, list);
		skb_list_del_init(skb);
		kfree_skb(skb);
	}
	gro->rx_count = 0;

	loop->receive = min_t(u64, loop->receive, middle - start);
	loop->complete = min_t(u64, loop->complete, end - middle);
	return err;
}

static int groloop_measure(struct groloop *loop, unsigned int rounds)
{
	int err = -ENOMEM;

	loop->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!loop->page)
		return err;
	loop->dev = alloc_netdev_dummy(0);
	if (!loop->dev)
		goto free_page;
	loop->dev->features |= NETIF_F_GRO | NETIF_F_GRO_UDP_FWD;
	netif_napi_add(loop->dev, &loop->napi, groloop_poll);

	loop->receive = U64_MAX;
	loop->complete = U64_MAX;
	do {
		local_bh_disable();
		err = groloop_round(loop);
		local_bh_enable();
		cond_resched();
	} while (!err && --rounds);

	netif_napi_del(&loop->napi);
	synchronize_net();
	free_netdev(loop->dev);
free_page:
	put_page(loop->page);
	return err;
}

static ssize_t groloop_write(struct file *file, const char __user *from,
			     size_t len, loff_t *pos)
{
	struct groloop *loop;
	unsigned int rounds;
	char line[64], proto[8];
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';

	loop = kzalloc_obj(*loop, GFP_KERNEL);
	if (!loop)
		return -ENOMEM;
	err = -EINVAL;
	if (sscanf(line, "%7s %d %d %u", proto, &loop->ext, &loop->inner_ext,
		   &rounds) != 4)
		goto free;
	loop->proto = strcmp(proto, "udp") ? IPPROTO_TCP : IPPROTO_UDP;
	if (loop->ext < 0 || loop->ext > GROLOOP_EXT_MAX ||
	    loop->inner_ext > GROLOOP_EXT_MAX || !rounds)
		goto free;

	err = mutex_lock_interruptible(&groloop_lock);
	if (err)
		goto free;
	groloop_answer[0] = '\0';
	err = groloop_measure(loop, rounds);
	if (!err)
		scnprintf(groloop_answer, sizeof(groloop_answer),
			  "proto=%s ext=%d inner=%d packets=%u receive=%llu complete=%llu\n",
			  proto, loop->ext, loop->inner_ext, GROLOOP_PACKETS,
			  loop->receive, loop->complete);
	mutex_unlock(&groloop_lock);
free:
	kfree(loop);
	return err ?: len;
}

static int groloop_show(struct seq_file *seq, void *unused)
{
	mutex_lock(&groloop_lock);
	seq_puts(seq, groloop_answer);
	mutex_unlock(&groloop_lock);
	return 0;
}

DEFINE_SHOW_STORE_ATTRIBUTE(groloop);

static int __init groloop_init(void)
{
	groloop_file = debugfs_create_file("groloop", 0600, NULL, NULL,
					   &groloop_fops);
	return PTR_ERR_OR_ZERO(groloop_file);
}

static void __exit groloop_exit(void)
{
	debugfs_remove(groloop_file);
}

module_init(groloop_init);
module_exit(groloop_exit);

MODULE_DESCRIPTION("Cost of GRO of IPv6, for the bench");
MODULE_LICENSE("GPL");
