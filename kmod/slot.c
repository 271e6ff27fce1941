// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "run.h"
#include "slot.h"
#include "worker.h"

/* Then the thread takes over, where the scheduler can step in. */
#define INLINE_IN_CALLBACK_MAX	16

/* In place, one buffer holds whichever is longer. */
static void body_bytes(const struct kspeed_spec *spec, unsigned int *in, unsigned int *out)
{
	spec->type->body_bytes(spec, in, out);
	if (spec->in_place)
		*in = max(*in, *out);
}

u64 kspeed_slot_cost(const struct kspeed_transform *transform)
{
	const struct kspeed_spec *spec = transform->spec;
	unsigned int in, out;
	u64 cost;

	body_bytes(spec, &in, &out);
	cost = sizeof(struct kspeed_slot) + 2 * sizeof(void *) +
	       spec->type->request_bytes(transform) +
	       kspeed_buffer_cost(spec->aad_bytes, in);
	if (!spec->in_place)
		cost += kspeed_buffer_cost(spec->aad_bytes, out);
	return cost;
}

static int alloc_buffers(struct kspeed_slot *slot)
{
	const struct kspeed_spec *spec = slot->transform->spec;
	unsigned int in, out;
	int err;

	body_bytes(spec, &in, &out);
	err = kspeed_buffer_alloc(&slot->src, spec->aad_bytes, in);
	if (!err && !spec->in_place)
		err = kspeed_buffer_alloc(&slot->dst, spec->aad_bytes, out);
	return err;
}

/* ccm wants the length of its counter, 1 to 7, in the first byte. */
void kspeed_slot_set_iv(struct kspeed_slot *slot, u32 seed)
{
	unsigned int i;

	for (i = 0; i < KSPEED_IV_BYTES_MAX; i++)
		slot->iv_start[i] = 3 + i * (seed % 251 + 1);
	memcpy(slot->iv, slot->iv_start, sizeof(slot->iv));
}

struct kspeed_slot *kspeed_slot_alloc(struct kspeed_worker *worker,
				      struct kspeed_transform *transform, u32 seed)
{
	const struct kspeed_type *type = transform->spec->type;
	struct kspeed_slot *slot = kzalloc(sizeof(*slot), KSPEED_GFP);

	if (!slot)
		return NULL;
	slot->worker = worker;
	slot->run = worker ? worker->run : NULL;
	slot->submit = type->submitter(transform->spec->op);
	slot->transform = transform;
	slot->last_error = -ENODATA;
	slot->latency_min_ns = U64_MAX;
	slot->request = type->request_alloc(transform);
	if (!slot->request || alloc_buffers(slot)) {
		kspeed_slot_free(slot);
		return NULL;
	}
	kspeed_slot_set_iv(slot, seed);
	type->bind(slot);
	return slot;
}

void kspeed_slot_free(struct kspeed_slot *slot)
{
	if (!slot || slot->lost)
		return;
	if (slot->request)
		slot->transform->spec->type->request_free(slot->request);
	kspeed_buffer_free(&slot->src);
	kspeed_buffer_free(&slot->dst);
	kfree(slot);
}

void kspeed_slot_begin_wait(struct kspeed_slot *slot)
{
	crypto_init_wait(&slot->wait);
	slot->transform->spec->type->set_callback(slot->request, CRYPTO_TFM_REQ_MAY_BACKLOG,
						  crypto_req_done, &slot->wait);
}

int kspeed_slot_end_wait(struct kspeed_slot *slot, int err)
{
	if (err != -EINPROGRESS && err != -EBUSY)
		return err;
	while (!wait_for_completion_timeout(&slot->wait.completion,
					    KSPEED_PATIENCE_SECONDS * HZ)) {
		/* While the module is being unloaded there is only waiting. */
		if (!try_module_get(THIS_MODULE))
			continue;
		slot->lost = true;
		slot->transform->lost = true;
		return -ETIMEDOUT;
	}
	return slot->wait.err;
}

int kspeed_slot_run_once(struct kspeed_slot *slot)
{
	kspeed_slot_begin_wait(slot);
	slot->last_error = kspeed_slot_end_wait(slot, slot->submit(slot));
	return slot->last_error;
}

static void count_time(struct kspeed_run *run, enum kspeed_stage stage, u64 ns)
{
	this_cpu_add(run->times[stage]->sum_ns, ns);
	this_cpu_inc(run->times[stage]->buckets[kspeed_latency_bucket(ns)]);
}

static void count_latency(struct kspeed_run *run, struct kspeed_slot *slot, u64 now_ns)
{
	u64 ns = now_ns - slot->submitted_ns;

	if (ns < slot->latency_min_ns)
		slot->latency_min_ns = ns;
	if (ns > slot->latency_max_ns)
		slot->latency_max_ns = ns;
	count_time(run, KSPEED_LATENCY, ns);
}

/* True: within the window, and without an error. */
static bool count(struct kspeed_slot *slot, int err, u64 now_ns)
{
	struct kspeed_run *run = slot->run;

	slot->last_error = err;
	if (kspeed_run_phase(run) != KSPEED_MEASURING)
		return false;
	if (unlikely(err)) {
		slot->errors++;
		return false;
	}
	slot->completed++;
	if (now_ns)
		count_latency(run, slot, now_ns);
	return true;
}

static u64 stamp(const struct kspeed_run *run)
{
	return run->spec.latency ? ktime_get_ns() : 0;
}

static void count_in_window(struct kspeed_slot *slot, u64 *counter)
{
	if (kspeed_run_phase(slot->run) == KSPEED_MEASURING)
		++*counter;
}

/* Only before the exchange is the slot ours for certain. */
static enum kspeed_outcome taken(struct kspeed_slot *slot)
{
	struct kspeed_run *run = slot->run;

	if (slot->submitted_ns) {
		slot->returned_ns = ktime_get_ns();
		if (kspeed_run_phase(run) == KSPEED_MEASURING)
			count_time(run, KSPEED_SUBMIT, slot->returned_ns - slot->submitted_ns);
	}
	if (atomic_xchg(&slot->state, KSPEED_SLOT_IN_FLIGHT) == KSPEED_SLOT_DONE)
		return KSPEED_DONE;
	return KSPEED_IN_FLIGHT;
}

static enum kspeed_outcome returned_at_once(struct kspeed_slot *slot, int err, u64 *now_ns)
{
	*now_ns = stamp(slot->run);
	if (count(slot, err, *now_ns)) {
		slot->completed_inline++;
		if (*now_ns)
			count_time(slot->run, KSPEED_SUBMIT, *now_ns - slot->submitted_ns);
	}
	if (unlikely(err))
		kspeed_slot_arm(slot);
	return KSPEED_DONE;
}

enum kspeed_outcome kspeed_slot_submit(struct kspeed_slot *slot, u64 *now_ns)
{
	int err;

	slot->submitted_ns = *now_ns;
	*now_ns = 0;
	atomic_set(&slot->state, KSPEED_SLOT_SUBMITTING);
	err = slot->submit(slot);
	switch (err) {
	case -EINPROGRESS:
		return taken(slot);
	case -EBUSY:
		/* Without leave to queue, busy means refused. */
		if (!slot->run->spec.backlog)
			break;
		count_in_window(slot, &slot->backlogged);
		return taken(slot);
	case -ENOSPC:
	case -EAGAIN:
		break;
	default:
		return returned_at_once(slot, err, now_ns);
	}
	count_in_window(slot, &slot->rejected);
	/*
	 * cryptd leaves its own callback in a request that it refuses, and
	 * would call that from itself without end the next time.
	 */
	kspeed_slot_arm(slot);
	return KSPEED_REJECTED;
}

static bool may_submit_here(struct kspeed_run *run)
{
	return kspeed_run_phase(run) < KSPEED_DRAINING && !in_hardirq() && !irqs_disabled();
}

/* True: in flight again. */
static bool submit_again(struct kspeed_slot *slot, u64 now_ns)
{
	struct kspeed_run *run = slot->run;
	unsigned int i;

	for (i = 0; i < INLINE_IN_CALLBACK_MAX && may_submit_here(run); i++) {
		switch (kspeed_slot_submit(slot, &now_ns)) {
		case KSPEED_IN_FLIGHT:
			return true;
		case KSPEED_REJECTED:
			return false;
		case KSPEED_DONE:
			if (!now_ns)
				now_ns = stamp(run);
			break;
		}
	}
	return false;
}

/* What passed between the call's return, if that is over, and the callback. */
static u64 waited_ns(struct kspeed_slot *slot, u64 now_ns)
{
	if (atomic_read_acquire(&slot->state) != KSPEED_SLOT_IN_FLIGHT)
		return 0;
	return now_ns > slot->returned_ns ? now_ns - slot->returned_ns : 0;
}

static void count_callback(struct kspeed_slot *slot, u64 now_ns)
{
	if (in_hardirq() || in_serving_softirq())
		slot->in_interrupt++;
	if (now_ns)
		count_time(slot->run, KSPEED_WAIT, waited_ns(slot, now_ns));
}

/*
 * The read-side section lets kspeed_worker_free() wait for the tail of a
 * callback that has already given its slot back.
 */
static void completed(kspeed_completion_arg arg, int err)
{
	struct kspeed_slot *slot = kspeed_completion_data(arg);
	struct kspeed_worker *worker;
	struct kspeed_run *run;
	bool counted;
	u64 now_ns;

	/* It has left the backlog and is still in flight. */
	if (err == -EINPROGRESS)
		return;
	rcu_read_lock();
	worker = slot->worker;
	run = slot->run;
	now_ns = stamp(run);
	counted = count(slot, err, now_ns);
	if (counted)
		count_callback(slot, now_ns);
	if (atomic_xchg(&slot->state, KSPEED_SLOT_DONE) == KSPEED_SLOT_IN_FLIGHT) {
		if (!worker->callback_submits || !submit_again(slot, now_ns))
			kspeed_worker_give_back(worker, slot);
	}
	if (counted && now_ns)
		count_time(run, KSPEED_CALLBACK, ktime_get_ns() - now_ns);
	rcu_read_unlock();
}

void kspeed_slot_arm(struct kspeed_slot *slot)
{
	const struct kspeed_spec *spec = slot->transform->spec;

	spec->type->set_callback(slot->request,
				 spec->backlog ? CRYPTO_TFM_REQ_MAY_BACKLOG : 0,
				 completed, slot);
}
