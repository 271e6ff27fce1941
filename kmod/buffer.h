/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a request as a scatter list: a head (the associated data) in an
 * entry of its own, then the body in pages that need not be neighbours.
 */
#ifndef KSPEED_BUFFER_H
#define KSPEED_BUFFER_H

#include <linux/gfp.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

/* Fails rather than have the kernel kill processes to make room. */
#define KSPEED_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

struct kspeed_buffer {
	struct scatterlist *sg;		/* NULL: no buffer */
	unsigned int entries;
	unsigned int head_bytes;
	unsigned int body_bytes;
};

int kspeed_buffer_alloc(struct kspeed_buffer *buffer, unsigned int head_bytes,
			unsigned int body_bytes);
void kspeed_buffer_free(struct kspeed_buffer *buffer);
/* Bytes of memory that kspeed_buffer_alloc() would take. */
u64 kspeed_buffer_cost(unsigned int head_bytes, unsigned int body_bytes);
/* A pattern that differs from seed to seed and from place to place. */
void kspeed_buffer_fill(struct kspeed_buffer *buffer, u32 seed);
void kspeed_buffer_clear(struct kspeed_buffer *buffer);
/* The first @bytes of both bodies are the same. */
bool kspeed_buffer_same_body(const struct kspeed_buffer *a,
			     const struct kspeed_buffer *b, unsigned int bytes);

#endif
