// SPDX-License-Identifier: GPL-2.0-only
/*  OpenVPN data channel offload: counters of batches */

#include <linux/cpumask.h>
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/string.h>

#include "batch_stats.h"

/* part of what users read: names are added, never changed */
static const char * const names_of[OVPN_BATCH_STATS] = {
	[OVPN_TX_BATCHES]		= "tx_batches",
	[OVPN_TX_BATCH_RECORDS]		= "tx_batch_records",
	[OVPN_TX_BATCH_FITTED]		= "tx_batch_fitted",
	[OVPN_TX_BATCH_DROPS]		= "tx_batch_drops",
	[OVPN_TX_UNBATCHED_TRANSPORT]	= "tx_unbatched_transport",
	[OVPN_TX_UNBATCHED_FRAGLIST]	= "tx_unbatched_fraglist",
	[OVPN_TX_UNBATCHED_NO_CSUM]	= "tx_unbatched_no_csum",
	[OVPN_TX_UNBATCHED_XFRM]	= "tx_unbatched_xfrm",
	[OVPN_TX_UNBATCHED_MTU]		= "tx_unbatched_mtu",
	[OVPN_TX_UNBATCHED_TYPE]	= "tx_unbatched_type",
	[OVPN_TX_UNBATCHED_SIZE]	= "tx_unbatched_size",
	[OVPN_TX_UNBATCHED_DMA]		= "tx_unbatched_dma",
	[OVPN_TX_UNBATCHED_NO_KEY]	= "tx_unbatched_no_key",
	[OVPN_TX_UNBATCHED_EXHAUSTED]	= "tx_unbatched_exhausted",
	[OVPN_TX_UNBATCHED_MEMORY]	= "tx_unbatched_memory",
	[OVPN_RX_BATCHES]		= "rx_batches",
	[OVPN_RX_BATCH_RECORDS]		= "rx_batch_records",
	[OVPN_RX_BATCH_SIZE_2]		= "rx_batch_size_2_3",
	[OVPN_RX_BATCH_SIZE_4]		= "rx_batch_size_4_7",
	[OVPN_RX_BATCH_SIZE_8]		= "rx_batch_size_8_15",
	[OVPN_RX_BATCH_SIZE_16]		= "rx_batch_size_16_31",
	[OVPN_RX_BATCH_SIZE_32]		= "rx_batch_size_32_64",
	[OVPN_RX_BATCH_END_SHORT]	= "rx_batch_end_short",
	[OVPN_RX_BATCH_END_LONG]	= "rx_batch_end_long",
	[OVPN_RX_BATCH_END_FULL]	= "rx_batch_end_full",
	[OVPN_RX_BATCH_END_KEY]		= "rx_batch_end_key",
	[OVPN_RX_BATCH_END_HEADER]	= "rx_batch_end_header",
	[OVPN_RX_BATCH_END_OTHER]	= "rx_batch_end_other",
	[OVPN_RX_UNBATCHED_FRAGMENTS]	= "rx_unbatched_fragments",
};

/**
 * ovpn_batch_stats_alloc - allocate the counters of a device
 *
 * Context: process context, may sleep.
 * Return: the counters, to be freed with free_percpu(), or NULL
 */
struct ovpn_batch_stats __percpu *ovpn_batch_stats_alloc(void)
{
	return netdev_alloc_pcpu_stats(struct ovpn_batch_stats);
}

/**
 * ovpn_batch_stats_get - sum up the counters of all CPUs
 * @stats: counters of the device
 * @sums: where OVPN_BATCH_STATS sums go
 */
void ovpn_batch_stats_get(struct ovpn_batch_stats __percpu *stats, u64 *sums)
{
	u64 snapshot[OVPN_BATCH_STATS];
	unsigned int start;
	int cpu, i;

	memset(sums, 0, sizeof(snapshot));
	for_each_possible_cpu(cpu) {
		const struct ovpn_batch_stats *s = per_cpu_ptr(stats, cpu);

		do {
			start = u64_stats_fetch_begin(&s->syncp);
			for (i = 0; i < OVPN_BATCH_STATS; i++)
				snapshot[i] = u64_stats_read(&s->value[i]);
		} while (u64_stats_fetch_retry(&s->syncp, start));

		for (i = 0; i < OVPN_BATCH_STATS; i++)
			sums[i] += snapshot[i];
	}
}

/**
 * ovpn_batch_stats_names - name the counters for ethtool
 * @names: where OVPN_BATCH_STATS names go, moved on past the last
 */
void ovpn_batch_stats_names(u8 **names)
{
	int i;

	for (i = 0; i < OVPN_BATCH_STATS; i++)
		ethtool_puts(names, names_of[i]);
}
