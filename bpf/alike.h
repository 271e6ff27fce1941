/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In how many of their last bits addresses may differ and still go the same way,
 * by what they begin with: `xdp::path::Alike`. All zero, as a program begins:
 * every address goes its own way.
 */
#ifndef LOCKGATE_ALIKE_H
#define LOCKGATE_ALIKE_H

#include "kernel.h"

enum { CELLS = 1 << 16 };

struct alike {
	/* By the first 16 bits; at most 16. */
	u8 v4[CELLS];
	/* By the first 64 bits, folded; at most 64. */
	u8 v6[CELLS];
};

/* Written by user space, before it begins a new generation. */
struct alike alike SEC(".bss.alike");

/* The bits that decide. */
INLINE be32 deciding_v4(be32 address)
{
	u32 bits = *(volatile u8 *)&alike.v4[ntohl(address) >> 16];

	return address & htonl(~0U << (bits & 31));
}

/* Of the last 64: the first all do. */
INLINE be64 deciding_v6(be64 first, be64 last)
{
	u32 folded = (u32)(first ^ first >> 32);
	u16 cell = ntohs((u16)(folded ^ folded >> 16));
	u32 bits = *(volatile u8 *)&alike.v6[cell];

	return bits < 64 ? last & htonll(~0ULL << bits) : 0;
}

#endif
