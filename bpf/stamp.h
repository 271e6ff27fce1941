/* SPDX-License-Identifier: GPL-2.0 */
/* The stamp of a test frame: the same as `wire::Stamp`, in the same order. */
#ifndef LOCKGATE_STAMP_H
#define LOCKGATE_STAMP_H

#include "kernel.h"

enum {
	STAMP_BYTES = 18,
	/* The frame check sequence, which a frame's size includes and a veth does not carry. */
	FCS_BYTES = 4,
	/* Longest frame whose stamp is looked for. */
	FRAME_BYTES_MAX = 0x3fff,
};

struct stamp {
	/* 'L', 'G', trial, stream. */
	u32 tag;
	be16 sequence_high;
	be32 sequence_low;
	be64 due_ns;
} __attribute__((packed));
_Static_assert(sizeof(struct stamp) == STAMP_BYTES, "as wire::Stamp");

/* The first four bytes of a stamp as they are loaded from memory. */
INLINE u32 stamp_tag(u8 trial, u8 stream)
{
	return 'L' | 'G' << 8 | (u32)trial << 16 | (u32)stream << 24;
}

INLINE u64 stamp_sequence(const struct stamp *stamp)
{
	return (u64)ntohs(stamp->sequence_high) << 32 | ntohl(stamp->sequence_low);
}

/* The last bytes of a frame, or nothing where it is too short. */
INLINE struct stamp *stamp_of(struct xdp_md *ctx)
{
	void *data = DATA(ctx);
	u64 offset = DATA_END(ctx) - data - STAMP_BYTES;

	if (offset > FRAME_BYTES_MAX)
		return 0;
	OPAQUE(offset);
	offset &= FRAME_BYTES_MAX;
	struct stamp *stamp = data + offset;

	return (void *)(stamp + 1) > DATA_END(ctx) ? 0 : stamp;
}

#endif
