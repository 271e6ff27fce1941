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
	u8 bytes[STAMP_BYTES];
};

/* 'L', 'G', trial, stream. */
#define STAMP_TAG(stamp) AT(u32, stamp, 0)
#define STAMP_SEQUENCE_HIGH(stamp) AT(be16, stamp, 4)
#define STAMP_SEQUENCE_LOW(stamp) AT(be32, stamp, 6)
#define STAMP_DUE_NS(stamp) AT(be64, stamp, 10)

/* The first four bytes of a stamp as they are loaded from memory. */
INLINE u32 stamp_tag(u8 trial, u8 stream)
{
	return 'L' | 'G' << 8 | (u32)trial << 16 | (u32)stream << 24;
}

INLINE u64 stamp_sequence(struct stamp *stamp)
{
	return (u64)ntohs(STAMP_SEQUENCE_HIGH(stamp)) << 32 | ntohl(STAMP_SEQUENCE_LOW(stamp));
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
