/* SPDX-License-Identifier: GPL-2.0 */
/* What a program that forwards counts, on each CPU; `xdp::Counters` reads it. */
#ifndef LOCKGATE_COUNTERS_H
#define LOCKGATE_COUNTERS_H

#include "kernel.h"

enum { DEVICES_MAX = 64 };

/* Why a frame went to the kernel. `xdp::Reason` has the same order. */
enum reason {
	REASON_NOT_IP,
	REASON_OTHER_HOST,
	REASON_VLAN,
	REASON_MALFORMED,
	REASON_CHECKSUM,
	REASON_OPTIONS,
	REASON_MARTIAN,
	REASON_TTL,
	REASON_MTU,
	REASON_NO_ROUTE,
	REASON_NO_NEIGHBOUR,
	REASON_SOURCE,
	REASON_SAME_PORT,
	REASON_NOT_A_PORT,
	REASON_SWITCHED_OFF,
	REASON_UNWATCHED,
	REASON_STALE,
	REASON_SPECIAL,
	REASON_FIREWALL,
	REASON_FILTER_IN,
	REASON_FILTER_OUT,
	REASON_POLICIES,
	REASON_OTHER,
	REASONS,
};

struct counters {
	u64 received;
	u64 forwarded;
	u64 dropped;
	/* Of the cache. */
	u64 hits;
	u64 misses;
	/* When a frame was forwarded last, by the kernel's ticks. */
	u64 last_ticks;
	u64 passed[REASONS];
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_NUMBER(max_entries, DEVICES_MAX + 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct counters);
} counters SEC(".maps");

/* Of the device by which a frame came in; from DEVICES_MAX on: of none that is known. */
INLINE struct counters *counters_of(u32 device)
{
	u32 key = device < DEVICES_MAX ? device : DEVICES_MAX;

	return bpf_map_lookup_elem(&counters, &key);
}

#endif
