// SPDX-License-Identifier: GPL-2.0
/* nicpair: settings and counters
 *
 *	ethtool -S		what the hardware did, and its time
 *	ethtool -K		offloads; the stack does what is switched off
 *	ethtool -G, -A		ring sizes and flow control
 *	ethtool --set-priv-flags DEV rx-split on
 *				split receive buffers at any MTU
 */

#include <linux/ethtool.h>
#include <linux/log2.h>

#include "nicpair.h"

static const char nicpair_stat_names[][ETH_GSTRING_LEN] = {
	"hw_ns",
	"hw_sections",
	"tx_super_packets",
	"tx_frames",
	"tx_ring_stops",
	"tx_bql_stops",
	"tx_pauses",
	"tx_no_link",
	"rx_frames",
	"rx_ring_overruns",
	"rx_oversize",
	"rx_alloc_failed",
};

static const char nicpair_flag_names[][ETH_GSTRING_LEN] = {
	"rx-split",
};

static void nicpair_get_drvinfo(struct net_device *dev,
				struct ethtool_drvinfo *info)
{
	strscpy(info->driver, NICPAIR_NAME, sizeof(info->driver));
}

static int nicpair_get_link_ksettings(struct net_device *dev,
				      struct ethtool_link_ksettings *cmd)
{
	/* no rate is kept: the wire takes no time */
	cmd->base.speed = SPEED_100000;
	cmd->base.duplex = DUPLEX_FULL;
	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static int nicpair_get_sset_count(struct net_device *dev, int set)
{
	switch (set) {
	case ETH_SS_STATS:
		return ARRAY_SIZE(nicpair_stat_names);
	case ETH_SS_PRIV_FLAGS:
		return ARRAY_SIZE(nicpair_flag_names);
	default:
		return -EOPNOTSUPP;
	}
}

static void nicpair_get_strings(struct net_device *dev, u32 set, u8 *to)
{
	switch (set) {
	case ETH_SS_STATS:
		memcpy(to, nicpair_stat_names, sizeof(nicpair_stat_names));
		break;
	case ETH_SS_PRIV_FLAGS:
		memcpy(to, nicpair_flag_names, sizeof(nicpair_flag_names));
		break;
	}
}

static void nicpair_get_ethtool_stats(struct net_device *dev,
				      struct ethtool_stats *stats, u64 *to)
{
	struct nicpair *np = netdev_priv(dev);
	struct nicpair_hw *far = &np->peer->hw;
	struct nicpair_hw *hw = &np->hw;

	/* what the two directions' hardware writes, not while it does */
	spin_lock_bh(&hw->lock);
	*to++ = hw->ns;
	*to++ = hw->sections;
	*to++ = hw->super;
	*to++ = hw->frames;
	*to++ = READ_ONCE(np->tx_ring_stops);
	*to++ = READ_ONCE(np->tx_bql_stops);
	*to++ = hw->pauses;
	*to++ = hw->no_link;
	spin_unlock_bh(&hw->lock);
	spin_lock_bh(&far->lock);
	*to++ = np->rx_frames;
	*to++ = np->rx_overruns;
	*to++ = np->rx_oversize;
	spin_unlock_bh(&far->lock);
	*to++ = READ_ONCE(np->rx_alloc_failed);
}

static u32 nicpair_get_priv_flags(struct net_device *dev)
{
	struct nicpair *np = netdev_priv(dev);

	return np->rx_split ? NICPAIR_PRIV_RX_SPLIT : 0;
}

static int nicpair_set_priv_flags(struct net_device *dev, u32 flags)
{
	struct nicpair *np = netdev_priv(dev);

	/* the buffers are made for it */
	if (netif_running(dev))
		return -EBUSY;
	np->rx_split = flags & NICPAIR_PRIV_RX_SPLIT;
	return 0;
}

static void nicpair_get_ringparam(struct net_device *dev,
				  struct ethtool_ringparam *ring,
				  struct kernel_ethtool_ringparam *kernel_ring,
				  struct netlink_ext_ack *extack)
{
	struct nicpair *np = netdev_priv(dev);

	ring->rx_max_pending = NICPAIR_RX_RING_MAX;
	ring->tx_max_pending = NICPAIR_TX_RING_MAX;
	ring->rx_pending = np->rx_size;
	ring->tx_pending = np->tx_size;
}

static int nicpair_set_ringparam(struct net_device *dev,
				 struct ethtool_ringparam *ring,
				 struct kernel_ethtool_ringparam *kernel_ring,
				 struct netlink_ext_ack *extack)
{
	struct nicpair *np = netdev_priv(dev);

	if (netif_running(dev))
		return -EBUSY;
	if (ring->rx_pending < NICPAIR_RING_MIN ||
	    ring->tx_pending < NICPAIR_RING_MIN) {
		NL_SET_ERR_MSG(extack, "a ring has at least 4 descriptors");
		return -EINVAL;
	}
	np->rx_size = roundup_pow_of_two(ring->rx_pending);
	np->tx_size = roundup_pow_of_two(ring->tx_pending);
	return 0;
}

static void nicpair_get_pauseparam(struct net_device *dev,
				   struct ethtool_pauseparam *pause)
{
	struct nicpair *np = netdev_priv(dev);

	pause->autoneg = AUTONEG_DISABLE;
	pause->rx_pause = np->pause_rx;
	pause->tx_pause = np->pause_tx;
}

static int nicpair_set_pauseparam(struct net_device *dev,
				  struct ethtool_pauseparam *pause)
{
	struct nicpair *np = netdev_priv(dev);

	if (pause->autoneg)
		return -EINVAL;
	/* a sender that waits already does so until there are buffers */
	WRITE_ONCE(np->pause_rx, pause->rx_pause);
	WRITE_ONCE(np->pause_tx, pause->tx_pause);
	return 0;
}

const struct ethtool_ops nicpair_ethtool_ops = {
	.get_drvinfo		= nicpair_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= nicpair_get_link_ksettings,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_sset_count		= nicpair_get_sset_count,
	.get_strings		= nicpair_get_strings,
	.get_ethtool_stats	= nicpair_get_ethtool_stats,
	.get_priv_flags		= nicpair_get_priv_flags,
	.set_priv_flags		= nicpair_set_priv_flags,
	.get_ringparam		= nicpair_get_ringparam,
	.set_ringparam		= nicpair_set_ringparam,
	.get_pauseparam		= nicpair_get_pauseparam,
	.set_pauseparam		= nicpair_set_pauseparam,
};
