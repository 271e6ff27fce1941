/* SPDX-License-Identifier: GPL-2.0-only */
/* A request with its memory: allocated before the clock starts, submitted
 * again and again, and counted in each completion.
 */
#ifndef KSPEED_SLOT_H
#define KSPEED_SLOT_H

#include <linux/atomic.h>
#include <linux/llist.h>

#include "buffer.h"
#include "transform.h"

#define KSPEED_IV_BYTES_MAX	32

struct kspeed_run;
struct kspeed_worker;

/*
 * SUBMITTING until the driver's call has returned, then IN_FLIGHT; DONE once
 * the callback has counted. Who comes second takes care of what follows, so a
 * driver that completes within its own call never makes us recurse.
 */
enum kspeed_slot_state {
	KSPEED_SLOT_SUBMITTING,
	KSPEED_SLOT_IN_FLIGHT,
	KSPEED_SLOT_DONE,
};

enum kspeed_outcome {
	KSPEED_IN_FLIGHT,	/* the callback owns the slot */
	KSPEED_DONE,		/* completed and counted; the caller owns it */
	KSPEED_REJECTED,	/* not taken (queue full); the caller owns it */
};

struct kspeed_slot {
	struct llist_node node;
	struct kspeed_worker *worker;
	struct kspeed_run *run;
	kspeed_submit submit;
	void *request;
	atomic_t state;
	int last_error;		/* 0: the destination holds a result */
	bool lost;		/* the driver kept it: never freed */
	u64 submitted_ns;
	u64 returned_ns;	/* valid once IN_FLIGHT */

	/* In the counted window; written by the owner only. */
	u64 completed;
	u64 errors;
	u64 latency_min_ns;
	u64 latency_max_ns;
	u64 backlogged;
	u64 completed_inline;
	u64 rejected;
	u64 in_interrupt;	/* callbacks that ran in one, hard or soft */

	u8 iv[KSPEED_IV_BYTES_MAX];
	u8 iv_start[KSPEED_IV_BYTES_MAX];
	struct kspeed_buffer src;
	struct kspeed_buffer dst;	/* none: in place */

	struct kspeed_transform *transform;
	struct crypto_wait wait;
};

static inline struct kspeed_buffer *kspeed_slot_out(struct kspeed_slot *slot)
{
	return slot->dst.sg ? &slot->dst : &slot->src;
}

/* NULL: no memory. */
struct kspeed_slot *kspeed_slot_alloc(struct kspeed_worker *worker,
				      struct kspeed_transform *transform, u32 seed);
void kspeed_slot_free(struct kspeed_slot *slot);
u64 kspeed_slot_cost(const struct kspeed_transform *transform);
void kspeed_slot_set_iv(struct kspeed_slot *slot, u32 seed);

/* A driver that keeps a request longer than this is taken to have lost it. */
#define KSPEED_PATIENCE_SECONDS	20

/* Submits once and waits; counts nothing. */
int kspeed_slot_run_once(struct kspeed_slot *slot);
/*
 * For one request outside of a run: begin, submit, end with what the API
 * returned. -ETIMEDOUT: the driver lost it; the slot and its transform stay
 * allocated and the module loaded, because the driver can still write there.
 */
void kspeed_slot_begin_wait(struct kspeed_slot *slot);
int kspeed_slot_end_wait(struct kspeed_slot *slot, int err);
/* Has the run's callback called from now on. */
void kspeed_slot_arm(struct kspeed_slot *slot);
/*
 * @now_ns: when it is submitted (0: not stamped); if it is KSPEED_DONE and
 * stamped, when it was complete.
 */
enum kspeed_outcome kspeed_slot_submit(struct kspeed_slot *slot, u64 *now_ns);

#endif
