/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Networks whose routes a program follows in part only: `xdp::path::Special`. What
 * `bpf_fib_lookup` does not tell of them, user space does: `xdp::path::Control`.
 */
#ifndef LOCKGATE_SPECIAL_H
#define LOCKGATE_SPECIAL_H

#include "kernel.h"

/* As many as a full table has. */
enum { SPECIAL_MAX = 1 << 20 };

struct network {
	/* How many bits of what follows all have: those of `family`, and the prefix's. */
	u32 bits;
	u32 family;
	/* IPv4: the address and zeros. */
	be64 address[2];
};

struct special {
	/* Longer packets are the kernel's; 0: all. */
	u32 bytes_max;
	/* The answer depends on more than a packet's destination. */
	u32 is_not_kept;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_LPM_TRIE);
	MAP_NUMBER(max_entries, SPECIAL_MAX);
	MAP_NUMBER(map_flags, BPF_F_NO_PREALLOC);
	MAP_TYPE(key, struct network);
	MAP_TYPE(value, struct special);
} specials SEC(".maps");

/* What is special of the routes to an address, or none. */
INLINE const struct special *special_of(u32 family, be64 first, be64 last)
{
	struct network network = {
		.bits = 32 + 128,
		.family = family,
		.address = { first, last },
	};

	return bpf_map_lookup_elem(&specials, &network);
}

#endif
