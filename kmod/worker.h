/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread bound to a CPU with its own transform and pool of slots. */
#ifndef KSPEED_WORKER_H
#define KSPEED_WORKER_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/llist.h>

#include "fault.h"
#include "transform.h"

struct kspeed_run;
struct kspeed_slot;
struct task_struct;

struct kspeed_worker {
	struct kspeed_run *run;
	struct task_struct *task;
	struct kspeed_transform transform;
	struct kspeed_slot **slots;
	unsigned int depth;
	unsigned int cpu;
	unsigned int refill_at;		/* sleeps until so many are back */
	bool gather;			/* take them only when all are back */
	bool callback_submits;
	struct completion drained;

	/* Slots that the thread owns, oldest first. */
	struct kspeed_slot **ring;
	unsigned int ring_head;
	unsigned int ring_count;
	unsigned int in_flight_max;

	/* Written by the callbacks, on whichever CPU they run. */
	struct llist_head returned ____cacheline_aligned_in_smp;
	atomic_t returned_count;
	unsigned int wake_at;
	bool asleep;
};

/* Allocates everything, tries one request, creates the thread (not awake). */
struct kspeed_worker *kspeed_worker_create(struct kspeed_run *run, unsigned int index,
					   unsigned int cpu, struct kspeed_fault *fault);
/*
 * Waits until nothing is in flight; the thread then waits to be freed. False:
 * the driver has lost requests, nothing of the run may be freed, and the
 * module stays loaded.
 */
bool kspeed_worker_drained(struct kspeed_worker *worker);
void kspeed_worker_free(struct kspeed_worker *worker);

/* From the callback: the slot is the thread's again. */
void kspeed_worker_give_back(struct kspeed_worker *worker, struct kspeed_slot *slot);

#endif
