// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: cut a GSO packet into packets
 *
 * What segmentation and checksum completion do, for plain TCP and UDP and
 * straight into the place where a packet is going to be encrypted: the payload
 * is copied and summed in one pass, nothing is allocated, and the GSO packet
 * is not written to.
 */

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "gso_cut.h"

#define GSO_TCP_TYPES	(SKB_GSO_TCPV4 | SKB_GSO_TCPV6)
/* what may come with them and is dealt with below */
#define GSO_TCP_FLAGS	(SKB_GSO_DODGY | SKB_GSO_TCP_ECN | \
			 SKB_GSO_TCP_ACCECN | SKB_GSO_TCP_FIXEDID)
#define GSO_UDP_FLAGS	SKB_GSO_DODGY

static struct tcphdr *cut_tcp(struct ovpn_gso_cut *cut)
{
	return (struct tcphdr *)(cut->hdr + cut->l3_len);
}

static struct udphdr *cut_udp(struct ovpn_gso_cut *cut)
{
	return (struct udphdr *)(cut->hdr + cut->l3_len);
}

static struct iphdr *cut_ip(struct ovpn_gso_cut *cut)
{
	return (struct iphdr *)cut->hdr;
}

static struct ipv6hdr *cut_ipv6(struct ovpn_gso_cut *cut)
{
	return (struct ipv6hdr *)cut->hdr;
}

static bool cut_is_ipv6(const struct ovpn_gso_cut *cut)
{
	return cut->skb->protocol == htons(ETH_P_IPV6);
}

static bool cut_is_udp(const struct ovpn_gso_cut *cut)
{
	return skb_shinfo(cut->skb)->gso_type & SKB_GSO_UDP_L4;
}

/* one transport header right behind one IP header, and these two agree */
static bool cut_check_ip(struct ovpn_gso_cut *cut, const struct sk_buff *skb,
			 unsigned int type)
{
	u8 proto = type & SKB_GSO_UDP_L4 ? IPPROTO_UDP : IPPROTO_TCP;

	if (skb->protocol == htons(ETH_P_IPV6)) {
		cut->l3_len = sizeof(struct ipv6hdr);
		return ipv6_hdr(skb)->nexthdr == proto &&
		       !(type & SKB_GSO_TCPV4);
	}

	cut->l3_len = ip_hdrlen(skb);
	return cut->l3_len >= sizeof(struct iphdr) &&
	       ip_hdr(skb)->protocol == proto &&
	       !ip_is_fragment(ip_hdr(skb)) && !(type & SKB_GSO_TCPV6);
}

/**
 * ovpn_gso_cut_start - look at a GSO packet and prepare to cut it
 * @cut: to be filled in
 * @skb: GSO packet, not shared, skb->data at its IP header of which the fixed
 *	 part is linear; must stay as it is until the last packet is cut
 *
 * Nothing that @skb says about itself is taken for granted: it may come from
 * user space by way of a virtio header, and gso_size may be a sentinel.
 *
 * Return: OVPN_BATCHED if it can be cut, or the reason why not
 */
enum ovpn_batch_stat ovpn_gso_cut_start(struct ovpn_gso_cut *cut,
					struct sk_buff *skb)
{
	unsigned int type = skb_shinfo(skb)->gso_type;
	unsigned int csum_offset, l4_len;
	bool udp;

	if (type & SKB_GSO_FRAGLIST)
		return OVPN_TX_UNBATCHED_FRAGLIST;

	memset(cut, 0, offsetof(struct ovpn_gso_cut, hdr));
	/* what is pulled below may move the head and all that is in it */
	cut->mss = skb_shinfo(skb)->gso_size;

	udp = type & SKB_GSO_UDP_L4;
	if (udp ? type & ~(SKB_GSO_UDP_L4 | GSO_UDP_FLAGS) :
		  !(type & GSO_TCP_TYPES) ||
		  type & ~(GSO_TCP_TYPES | GSO_TCP_FLAGS))
		return OVPN_TX_UNBATCHED_TYPE;

	if (skb->encapsulation || skb_network_offset(skb) ||
	    !skb_frags_readable(skb))
		return OVPN_TX_UNBATCHED_TYPE;

	if (!cut_check_ip(cut, skb, type))
		return OVPN_TX_UNBATCHED_TYPE;

	l4_len = udp ? sizeof(struct udphdr) : sizeof(struct tcphdr);
	csum_offset = udp ? offsetof(struct udphdr, check) :
			    offsetof(struct tcphdr, check);
	if (skb->ip_summed != CHECKSUM_PARTIAL ||
	    skb_transport_offset(skb) != cut->l3_len ||
	    skb_checksum_start_offset(skb) != cut->l3_len ||
	    skb->csum_offset != csum_offset ||
	    !pskb_may_pull(skb, cut->l3_len + l4_len))
		return OVPN_TX_UNBATCHED_TYPE;

	if (!udp)
		l4_len = tcp_hdrlen(skb);
	cut->hdr_len = cut->l3_len + l4_len;
	if (!udp && (l4_len < sizeof(struct tcphdr) ||
		     !pskb_may_pull(skb, cut->hdr_len)))
		return OVPN_TX_UNBATCHED_TYPE;

	cut->left = skb->len - cut->hdr_len;
	if (!cut->mss || cut->left <= cut->mss)
		return OVPN_TX_UNBATCHED_TYPE;

	cut->skb = skb;
	cut->offset = cut->hdr_len;
	cut->packets = DIV_ROUND_UP(cut->left, cut->mss);
	skb_copy_from_linear_data(skb, cut->hdr, cut->hdr_len);

	if (!cut_is_ipv6(cut)) {
		cut->id = ntohs(ip_hdr(skb)->id);
		cut->id_step = !(type & SKB_GSO_TCP_FIXEDID);
	}

	if (!udp) {
		cut->seq = ntohl(tcp_hdr(skb)->seq);
		cut->keep_cwr = type & SKB_GSO_TCP_ACCECN;
		cut->last_flags = tcp_flag_word(tcp_hdr(skb)) &
				  (TCP_FLAG_FIN | TCP_FLAG_PSH);
		tcp_flag_word(cut_tcp(cut)) &= ~cut->last_flags;
	}

	return OVPN_BATCHED;
}

/**
 * ovpn_gso_cut_fit - cut packets smaller than the GSO packet asks for
 * @cut: prepared by ovpn_gso_cut_start(), nothing cut off yet
 * @len: what a packet may have in bytes, less than it has so far
 *
 * To TCP the edges of segments mean little (a loss costs the sender one of its
 * own segments or two), and smaller ones cost less than records in fragments.
 * Some payload has to be left, as much as any receiver takes. More IPv4
 * identifications are used than the sender has set aside: that is for packets
 * only which nobody may fragment (RFC 6864, section 4.1). UDP datagrams are
 * what they are.
 *
 * Return: true if the packets fit now, false if they stay as they are
 */
bool ovpn_gso_cut_fit(struct ovpn_gso_cut *cut, unsigned int len)
{
	if (cut_is_udp(cut) || len < cut->hdr_len + TCP_MSS_DEFAULT)
		return false;

	if (!cut_is_ipv6(cut) && !(cut_ip(cut)->frag_off & htons(IP_DF)))
		return false;

	cut->mss = len - cut->hdr_len;
	cut->packets = DIV_ROUND_UP(cut->left, cut->mss);
	return true;
}

/* complete the headers of the next packet, whose payload has the sum csum */
static void cut_headers(struct ovpn_gso_cut *cut, unsigned int len, __wsum csum)
{
	unsigned int l4_len = cut->hdr_len - cut->l3_len;
	__sum16 *check;
	u8 proto;

	if (cut_is_udp(cut)) {
		struct udphdr *uh = cut_udp(cut);

		proto = IPPROTO_UDP;
		check = &uh->check;
		uh->len = htons(l4_len + len);
	} else {
		struct tcphdr *th = cut_tcp(cut);

		proto = IPPROTO_TCP;
		check = &th->check;
		th->seq = htonl(cut->seq);
		if (len == cut->left)
			tcp_flag_word(th) |= cut->last_flags;
	}

	/* the transport header's length is even: the payload's sum fits on */
	*check = 0;
	csum = csum_partial(cut->hdr + cut->l3_len, l4_len, csum);

	if (cut_is_ipv6(cut)) {
		struct ipv6hdr *ip6h = cut_ipv6(cut);

		ip6h->payload_len = htons(l4_len + len);
		*check = csum_ipv6_magic(&ip6h->saddr, &ip6h->daddr,
					 l4_len + len, proto, csum);
	} else {
		struct iphdr *iph = cut_ip(cut);

		iph->tot_len = htons(cut->hdr_len + len);
		iph->id = htons(cut->id);
		ip_send_check(iph);
		*check = csum_tcpudp_magic(iph->saddr, iph->daddr,
					   l4_len + len, proto, csum);
	}

	/* as skb_checksum_help() does for TCP, too */
	if (!*check)
		*check = CSUM_MANGLED_0;
}

/**
 * ovpn_gso_cut_next - write the next packet
 * @cut: prepared by ovpn_gso_cut_start()
 * @to: where the packet goes, hdr_len plus mss bytes, not aligned
 *
 * Must not be called more often than there are packets.
 *
 * Return: the length of the packet in bytes
 */
unsigned int ovpn_gso_cut_next(struct ovpn_gso_cut *cut, u8 *to)
{
	unsigned int len = min(cut->mss, cut->left);
	__wsum csum;

	csum = skb_copy_and_csum_bits(cut->skb, cut->offset, to + cut->hdr_len,
				      len);
	cut_headers(cut, len, csum);
	memcpy(to, cut->hdr, cut->hdr_len);

	cut->offset += len;
	cut->left -= len;
	cut->seq += len;
	cut->id += cut->id_step;
	/* RFC 3168: the answer to a congestion mark is given once */
	if (!cut_is_udp(cut) && !cut->keep_cwr)
		cut_tcp(cut)->cwr = 0;

	return cut->hdr_len + len;
}
