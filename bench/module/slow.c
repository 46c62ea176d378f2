// SPDX-License-Identifier: GPL-2.0
/* slow: a receive path that is slower by a known amount
 *
 *	insmod slow.ko instructions=2000
 *
 * spends that many instructions on every UDP packet that a network namespace
 * takes for itself.  What the bench reads with it and without it has to differ
 * by that much.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/net_namespace.h>

static unsigned int instructions = 1000;
module_param(instructions, uint, 0444);
MODULE_PARM_DESC(instructions, "spent on each packet, an even number");

static unsigned int slow_hook(void *priv, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	unsigned int turns = instructions / 2;
	u8 protocol = state->pf == NFPROTO_IPV4 ? ip_hdr(skb)->protocol :
						  ipv6_hdr(skb)->nexthdr;

	if (turns && protocol == IPPROTO_UDP)
		asm volatile("1: decl %0\n\tjnz 1b" : "+r" (turns) : : "cc");
	return NF_ACCEPT;
}

static const struct nf_hook_ops slow_ops[] = {
	{
		.hook = slow_hook,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_FIRST,
	},
	{
		.hook = slow_hook,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP6_PRI_FIRST,
	},
};

static int __net_init slow_net_init(struct net *net)
{
	return nf_register_net_hooks(net, slow_ops, ARRAY_SIZE(slow_ops));
}

static void __net_exit slow_net_exit(struct net *net)
{
	nf_unregister_net_hooks(net, slow_ops, ARRAY_SIZE(slow_ops));
}

static struct pernet_operations slow_net_ops = {
	.init = slow_net_init,
	.exit = slow_net_exit,
};

static int __init slow_init(void)
{
	return register_pernet_subsys(&slow_net_ops);
}

static void __exit slow_exit(void)
{
	unregister_pernet_subsys(&slow_net_ops);
}

module_init(slow_init);
module_exit(slow_exit);

MODULE_DESCRIPTION("Receive path that is slower by a known amount, for the bench");
MODULE_LICENSE("GPL");
