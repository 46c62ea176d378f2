/* SPDX-License-Identifier: GPL-2.0 */
/* nicpair: two network devices back to back, with hardware segmentation
 *
 * Who implements what:
 *	nicpair_main.c		the driver: rings, NAPI, the pair itself
 *	nicpair_hw.c		what the hardware of a NIC does; its time is
 *				accounted as such
 *	nicpair_ethtool.c	settings and counters
 */

#ifndef _BENCH_NICPAIR_H_
#define _BENCH_NICPAIR_H_

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/page_pool/types.h>

#define NICPAIR_NAME		"nicpair"

#define NICPAIR_TX_RING		256
#define NICPAIR_TX_RING_MAX	1024
#define NICPAIR_RX_RING		1024
#define NICPAIR_RX_RING_MAX	4096
#define NICPAIR_RING_MIN	4
#define NICPAIR_MTU_MAX		9000

/* what a receive buffer of split layout leaves in the linear part */
#define NICPAIR_RX_HEAD		256

/* private flags, see ethtool --show-priv-flags */
#define NICPAIR_PRIV_RX_SPLIT	BIT(0)

/**
 * enum nicpair_job - what the hardware does with a descriptor
 * @NICPAIR_SEND: send one frame as it is
 * @NICPAIR_CSUM: send one frame, finish its checksum
 * @NICPAIR_TSO: cut a TCP super-packet
 * @NICPAIR_USO: cut a UDP super-packet
 */
enum nicpair_job {
	NICPAIR_SEND,
	NICPAIR_CSUM,
	NICPAIR_TSO,
	NICPAIR_USO,
};

/**
 * struct nicpair_seg - piece of memory that the hardware reads
 * @addr: where it starts
 * @len: its length
 */
struct nicpair_seg {
	const u8 *addr;
	unsigned int len;
};

/**
 * struct nicpair_txd - transmit descriptor
 * @skb: what is sent; owned by the ring from xmit until the completion
 * @bytes: length of all its frames, as told to BQL
 * @frames: number of frames that leave
 * @job: what the hardware is to do
 * @no_csum: cut UDP without a checksum
 * @mss: payload of each frame but the last (TSO, USO)
 * @hdr_len: length of the headers that each frame repeats (TSO, USO)
 * @l3: offset of the network header (TSO, USO)
 * @l4: offset of the transport header, where the checksum starts
 * @csum_at: offset of the checksum field (CSUM)
 * @segs: number of pieces
 * @seg: the pieces
 */
struct nicpair_txd {
	struct sk_buff *skb;
	unsigned int bytes;
	unsigned int frames;
	enum nicpair_job job;
	bool no_csum;
	u16 mss;
	u16 hdr_len;
	u16 l3;
	u16 l4;
	u16 csum_at;
	u16 segs;
	struct nicpair_seg seg[MAX_SKB_FRAGS + 1];
};

/**
 * struct nicpair_rxd - receive descriptor and its completion
 * @page: the buffer's page, from the page pool
 * @offset: where in the page the buffer begins
 * @len: length of the received frame
 * @hash: of its addresses and ports
 * @l4_hash: ports are part of the hash
 * @csum_ok: the hardware has found the TCP or UDP checksum right
 */
struct nicpair_rxd {
	struct page *page;
	unsigned int offset;
	unsigned int len;
	u32 hash;
	bool l4_hash;
	bool csum_ok;
};

/**
 * struct nicpair_hw - transmit side of the hardware, up to the far rx ring
 * @lock: serialises the hardware of one direction, and its @on and
 *	  &nicpair.hw_rx_on of the far end against it
 * @on: the transmit ring exists
 * @paused: the far end had no buffer, it will call when it has
 * @frame: the next frame to cut from the oldest descriptor
 * @ns: time that the hardware took
 * @sections: number of measured sections
 * @super: super-packets that were cut
 * @frames: frames sent
 * @pauses: how often the far end's ring was full
 * @no_link: frames lost because the far end was down
 */
struct nicpair_hw {
	spinlock_t lock; /* one direction's hardware */
	bool on;
	bool paused;
	unsigned int frame;
	u64 ns;
	u64 sections;
	u64 super;
	u64 frames;
	u64 pauses;
	u64 no_link;
};

/**
 * struct nicpair - one end of a pair
 * @dev: its network device
 * @peer: the other end.  Set before either is registered, never changed; both
 *	  ends are unregistered by the same call, which closes both before it
 *	  frees one, so that whoever is up may look at the other.
 * @napi: does what interrupts ask for, of both rings
 * @armed: the hardware may interrupt; it does once, until NAPI has completed
 * @hw: the sending hardware of this end
 * @txd: the transmit ring
 * @tx_size: its size, a power of two
 * @tx_posted: descriptors written, by xmit
 * @tx_sent: descriptors done, by our hardware
 * @tx_cleaned: descriptors whose skb was freed, by NAPI
 * @tx_ring_stops: how often xmit stopped the queue, the ring being full
 * @tx_bql_stops: how often BQL stopped it
 * @rxd: the receive ring
 * @rx_size: its size, a power of two
 * @rx_posted: buffers given to the hardware, by NAPI
 * @rx_filled: buffers that hold a frame, by the peer's hardware
 * @rx_taken: frames taken out, by NAPI
 * @pool: where receive buffers come from
 * @rx_split: private flag: split layout even where linear would do
 * @rx_linear: layout of the buffers at hand
 * @rx_headroom: what the hardware leaves free before a frame
 * @rx_stride: size of a buffer
 * @rx_max: the longest frame that is received
 * @rx_alloc_failed: frames or refills without memory
 * @hw_rx_on: the receive ring exists; the peer's &nicpair_hw.lock guards it
 * @rx_frames: frames written by the peer's hardware, under its lock
 * @rx_overruns: frames for which there was no buffer, under its lock
 * @rx_oversize: frames longer than @rx_max, under its lock
 * @pause_rx: this end's transmitter waits when the other end asks it to
 * @pause_tx: this end's receiver asks the other end to wait
 */
struct nicpair {
	struct net_device *dev;
	struct nicpair *peer;
	struct napi_struct napi;
	bool armed;
	struct nicpair_hw hw;

	struct nicpair_txd *txd;
	unsigned int tx_size;
	unsigned int tx_posted;
	unsigned int tx_sent;
	unsigned int tx_cleaned;
	u64 tx_ring_stops;
	u64 tx_bql_stops;

	struct nicpair_rxd *rxd;
	unsigned int rx_size;
	unsigned int rx_posted;
	unsigned int rx_filled;
	unsigned int rx_taken;
	struct page_pool *pool;
	bool rx_split;
	bool rx_linear;
	unsigned int rx_headroom;
	unsigned int rx_stride;
	unsigned int rx_max;
	u64 rx_alloc_failed;

	bool hw_rx_on;
	u64 rx_frames;
	u64 rx_overruns;
	u64 rx_oversize;
	bool pause_rx;
	bool pause_tx;
};

extern const struct ethtool_ops nicpair_ethtool_ops;

void nicpair_hw_calibrate(void);
void nicpair_hw_run(struct nicpair *np);

#endif /* _BENCH_NICPAIR_H_ */
