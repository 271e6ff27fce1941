/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Neighbours that the kernel has not heard of for a while (NUD_STALE; RFC 4861,
 * section 7.3.2). Their addresses may be used, but the first frame that does
 * makes the kernel ask: so that one goes to the kernel. User space adds them as
 * they become stale; who passes the frame strikes them out.
 */
#ifndef LOCKGATE_STALE_H
#define LOCKGATE_STALE_H

#include "kernel.h"

enum {
	NEIGHBOUR_CELLS_SHIFT = 10,
	NEIGHBOUR_CELLS = 1 << NEIGHBOUR_CELLS_SHIFT,
	/* More than the kernel keeps by default (net.ipv4.neigh.default.gc_thresh3). */
	STALE_MAX = 16384,
};

/* IPv4: the address and zeros. */
struct neighbour {
	be64 address[2];
	u32 ifindex;
	u32 family;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, STALE_MAX);
	MAP_NUMBER(map_flags, BPF_F_NO_PREALLOC);
	MAP_TYPE(key, struct neighbour);
	MAP_TYPE(value, u32);
} stale SEC(".maps");

/* Of those that share a count; by multiplication (Knuth 3, section 6.4). */
INLINE u32 neighbour_cell(const struct neighbour *neighbour)
{
	u64 mix = (neighbour->address[0] ^ neighbour->ifindex) * 0x9e3779b97f4a7c15ULL ^
		  neighbour->address[1] * 0xc2b2ae3d27d4eb4fULL;

	return mix >> (64 - NEIGHBOUR_CELLS_SHIFT);
}

/* The next hop of an answer. */
INLINE struct neighbour neighbour_of(const struct bpf_fib_lookup *answer)
{
	struct neighbour neighbour = {
		.ifindex = answer->ifindex,
		.family = answer->family,
	};

	if (answer->family == AF_INET6) {
		neighbour.address[0] = answer->ipv6_dst[0];
		neighbour.address[1] = answer->ipv6_dst[1];
	} else {
		neighbour.address[0] = answer->ipv4_dst;
	}
	return neighbour;
}

/* Whether it is stale, and this is the first frame to it. */
INLINE int is_first_to_stale(const struct neighbour *neighbour)
{
	/* Of several CPUs one strikes it out. */
	return UNLIKELY(bpf_map_lookup_elem(&stale, neighbour) != 0) &&
	       !bpf_map_delete_elem(&stale, neighbour);
}

#endif
