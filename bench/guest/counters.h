/* SPDX-License-Identifier: GPL-2.0 */
/* what load's sink counts and meter reads */

#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include <stdint.h>

#define COUNTERS "/run/load"

struct counters {
	uint64_t bytes;
	uint64_t calls;		/* reads of TCP, datagrams of UDP */
};

#endif
