// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "buffer.h"

#define SMALL_BYTES_MIN	64u

/* Powers of two, because only those are aligned under slub_debug too. */
static unsigned int small_bytes(unsigned int bytes)
{
	return roundup_pow_of_two(max(bytes, SMALL_BYTES_MIN));
}

static unsigned int entry_count(unsigned int head_bytes, unsigned int body_bytes)
{
	return (head_bytes ? 1 : 0) + max(DIV_ROUND_UP(body_bytes, PAGE_SIZE), 1ul);
}

static u64 piece_cost(unsigned int bytes)
{
	return bytes < PAGE_SIZE ? small_bytes(bytes) : PAGE_SIZE;
}

u64 kspeed_buffer_cost(unsigned int head_bytes, unsigned int body_bytes)
{
	u64 cost = entry_count(head_bytes, body_bytes) * sizeof(struct scatterlist);

	if (head_bytes)
		cost += piece_cost(head_bytes);
	cost += (u64)(body_bytes / PAGE_SIZE) * PAGE_SIZE;
	if (body_bytes % PAGE_SIZE || !body_bytes)
		cost += piece_cost(body_bytes % PAGE_SIZE);
	return cost;
}

static void *piece_alloc(unsigned int bytes)
{
	return kzalloc(piece_cost(bytes), KSPEED_GFP);
}

static int add_piece(struct kspeed_buffer *buffer, unsigned int bytes)
{
	void *piece = piece_alloc(bytes);

	if (!piece)
		return -ENOMEM;
	sg_set_buf(&buffer->sg[buffer->entries++], piece, bytes);
	return 0;
}

int kspeed_buffer_alloc(struct kspeed_buffer *buffer, unsigned int head_bytes,
			unsigned int body_bytes)
{
	unsigned int count = entry_count(head_bytes, body_bytes);
	unsigned int left = body_bytes;

	buffer->head_bytes = head_bytes;
	buffer->body_bytes = body_bytes;
	buffer->entries = 0;
	buffer->sg = kcalloc(count, sizeof(*buffer->sg), KSPEED_GFP);
	if (!buffer->sg)
		return -ENOMEM;
	sg_init_table(buffer->sg, count);
	if (head_bytes && add_piece(buffer, head_bytes))
		goto no_memory;
	do {
		unsigned int piece = min_t(unsigned int, left, PAGE_SIZE);

		if (add_piece(buffer, piece))
			goto no_memory;
		left -= piece;
	} while (left);
	return 0;

no_memory:
	kspeed_buffer_free(buffer);
	return -ENOMEM;
}

void kspeed_buffer_free(struct kspeed_buffer *buffer)
{
	unsigned int i;

	if (!buffer->sg)
		return;
	for (i = 0; i < buffer->entries; i++)
		kfree(sg_virt(&buffer->sg[i]));
	kfree(buffer->sg);
	buffer->sg = NULL;
}

void kspeed_buffer_fill(struct kspeed_buffer *buffer, u32 seed)
{
	u32 state = seed * 2654435761u + 1;
	unsigned int i, j;

	for (i = 0; i < buffer->entries; i++) {
		u8 *bytes = sg_virt(&buffer->sg[i]);

		for (j = 0; j < buffer->sg[i].length; j++) {
			state = state * 1664525u + 1013904223u;
			bytes[j] = state >> 24;
		}
	}
}

void kspeed_buffer_clear(struct kspeed_buffer *buffer)
{
	unsigned int i;

	for (i = 0; i < buffer->entries; i++)
		memset(sg_virt(&buffer->sg[i]), 0, buffer->sg[i].length);
}

bool kspeed_buffer_same_body(const struct kspeed_buffer *a,
			     const struct kspeed_buffer *b, unsigned int bytes)
{
	unsigned int i = a->head_bytes ? 1 : 0;
	unsigned int j = b->head_bytes ? 1 : 0;

	while (bytes) {
		unsigned int piece = min_t(unsigned int, bytes, PAGE_SIZE);

		if (memcmp(sg_virt(&a->sg[i++]), sg_virt(&b->sg[j++]), piece))
			return false;
		bytes -= piece;
	}
	return true;
}
