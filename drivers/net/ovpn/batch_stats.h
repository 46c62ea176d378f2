/* SPDX-License-Identifier: GPL-2.0-only */
/*  OpenVPN data channel offload: counters of batches */

#ifndef _NET_OVPN_BATCH_STATS_H_
#define _NET_OVPN_BATCH_STATS_H_

#include <linux/bottom_half.h>
#include <linux/percpu.h>
#include <linux/u64_stats_sync.h>

/**
 * enum ovpn_batch_stat - what is counted of batches, in the order of ethtool -S
 * @OVPN_TX_BATCHES: aggregates handed to UDP
 * @OVPN_TX_BATCH_RECORDS: records in these aggregates
 * @OVPN_TX_BATCH_FITTED: TCP packets cut smaller to fit the route's MTU
 * @OVPN_TX_BATCH_DROPS: records that were lost together with their aggregate
 * @OVPN_TX_UNBATCHED_TRANSPORT: the peer has no UDP socket
 * @OVPN_TX_UNBATCHED_FRAGLIST: a list of packets, encrypted in place
 * @OVPN_TX_UNBATCHED_NO_CSUM: the socket sends without UDP checksums
 * @OVPN_TX_UNBATCHED_XFRM: the route to the peer leads through IPsec
 * @OVPN_TX_UNBATCHED_MTU: a record does not fit the route's MTU
 * @OVPN_TX_UNBATCHED_TYPE: a kind of GSO packet that is not cut into records
 * @OVPN_TX_UNBATCHED_SIZE: records so large that batches make no sense
 * @OVPN_TX_UNBATCHED_DMA: an asynchronous cipher that writes past the caches
 * @OVPN_TX_UNBATCHED_NO_KEY: the peer has no primary key
 * @OVPN_TX_UNBATCHED_EXHAUSTED: the key has not enough packet IDs left
 * @OVPN_TX_UNBATCHED_MEMORY: no memory for an aggregate
 * @OVPN_RX_BATCHES: chains of records that came by way of GRO
 * @OVPN_RX_BATCH_RECORDS: records in these chains
 * @OVPN_RX_BATCH_SIZE_2: chains of 2 or 3 records
 * @OVPN_RX_BATCH_SIZE_4: chains of 4 to 7 records
 * @OVPN_RX_BATCH_SIZE_8: chains of 8 to 15 records
 * @OVPN_RX_BATCH_SIZE_16: chains of 16 to 31 records
 * @OVPN_RX_BATCH_SIZE_32: chains of 32 records or more
 * @OVPN_RX_BATCH_END_SHORT: the last record was shorter than the others
 * @OVPN_RX_BATCH_END_LONG: a record that is longer came next
 * @OVPN_RX_BATCH_END_FULL: no more records or bytes are allowed
 * @OVPN_RX_BATCH_END_KEY: a record of another key or peer came next
 * @OVPN_RX_BATCH_END_HEADER: IP header or checksum state of the next differ
 * @OVPN_RX_BATCH_END_OTHER: something else came next, like the control channel
 * @OVPN_RX_UNBATCHED_FRAGMENTS: records that were not held because others of
 *				 their peer had just come in fragments
 * @OVPN_BATCH_STATS: number of counters
 *
 * Those named TX_UNBATCHED count GSO packets that left as individual records,
 * one reason for each. Those named END count why chains took no more; the
 * others ended because NAPI had nothing more, or a time-out of GRO.
 */
enum ovpn_batch_stat {
	OVPN_TX_BATCHES,
	OVPN_TX_BATCH_RECORDS,
	OVPN_TX_BATCH_FITTED,
	OVPN_TX_BATCH_DROPS,
	OVPN_TX_UNBATCHED_TRANSPORT,
	OVPN_TX_UNBATCHED_FRAGLIST,
	OVPN_TX_UNBATCHED_NO_CSUM,
	OVPN_TX_UNBATCHED_XFRM,
	OVPN_TX_UNBATCHED_MTU,
	OVPN_TX_UNBATCHED_TYPE,
	OVPN_TX_UNBATCHED_SIZE,
	OVPN_TX_UNBATCHED_DMA,
	OVPN_TX_UNBATCHED_NO_KEY,
	OVPN_TX_UNBATCHED_EXHAUSTED,
	OVPN_TX_UNBATCHED_MEMORY,
	OVPN_RX_BATCHES,
	OVPN_RX_BATCH_RECORDS,
	OVPN_RX_BATCH_SIZE_2,
	OVPN_RX_BATCH_SIZE_4,
	OVPN_RX_BATCH_SIZE_8,
	OVPN_RX_BATCH_SIZE_16,
	OVPN_RX_BATCH_SIZE_32,
	OVPN_RX_BATCH_END_SHORT,
	OVPN_RX_BATCH_END_LONG,
	OVPN_RX_BATCH_END_FULL,
	OVPN_RX_BATCH_END_KEY,
	OVPN_RX_BATCH_END_HEADER,
	OVPN_RX_BATCH_END_OTHER,
	OVPN_RX_UNBATCHED_FRAGMENTS,
	OVPN_BATCH_STATS
};

/* what a question for the reason answers if there is none against a batch */
#define OVPN_BATCHED	OVPN_TX_BATCHES

/**
 * struct ovpn_batch_stats - one CPU's counters of batches
 * @syncp: lets 32-bit readers see whole values
 * @value: the counters
 */
struct ovpn_batch_stats {
	struct u64_stats_sync syncp;
	u64_stats_t value[OVPN_BATCH_STATS];
};

struct ovpn_batch_stats __percpu *ovpn_batch_stats_alloc(void);
void ovpn_batch_stats_get(struct ovpn_batch_stats __percpu *stats, u64 *sums);
void ovpn_batch_stats_names(u8 **names);

/**
 * ovpn_batch_stats_add - add to a counter
 * @stats: counters of the device
 * @stat: which of them
 * @n: how many to add
 *
 * Context: any but hard interrupt.
 */
static inline void ovpn_batch_stats_add(struct ovpn_batch_stats __percpu *stats,
					enum ovpn_batch_stat stat,
					unsigned int n)
{
	struct ovpn_batch_stats *s;

	local_bh_disable();
	s = this_cpu_ptr(stats);
	u64_stats_update_begin(&s->syncp);
	u64_stats_add(&s->value[stat], n);
	u64_stats_update_end(&s->syncp);
	local_bh_enable();
}

#endif /* _NET_OVPN_BATCH_STATS_H_ */
