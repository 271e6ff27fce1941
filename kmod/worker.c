// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "run.h"
#include "slot.h"
#include "worker.h"

void kspeed_worker_give_back(struct kspeed_worker *worker, struct kspeed_slot *slot)
{
	llist_add(&slot->node, &worker->returned);
	/* Full barrier: the thread sees the count or we see it asleep. */
	if (atomic_inc_return(&worker->returned_count) < READ_ONCE(worker->wake_at))
		return;
	if (!READ_ONCE(worker->asleep))
		return;
	WRITE_ONCE(worker->asleep, false);
	wake_up_process(worker->task);
}

static void wait_for_returned(struct kspeed_worker *worker, unsigned int count)
{
	WRITE_ONCE(worker->wake_at, count);
	for (;;) {
		/* In this order: who sees us asleep can wake us. */
		set_current_state(TASK_IDLE);
		smp_store_mb(worker->asleep, true);
		if (atomic_read(&worker->returned_count) >= count)
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	WRITE_ONCE(worker->asleep, false);
}

static void ring_push(struct kspeed_worker *worker, struct kspeed_slot *slot)
{
	unsigned int tail = worker->ring_head + worker->ring_count++;

	worker->ring[tail < worker->depth ? tail : tail - worker->depth] = slot;
}

static struct kspeed_slot *ring_pop(struct kspeed_worker *worker)
{
	struct kspeed_slot *slot;

	if (!worker->ring_count)
		return NULL;
	slot = worker->ring[worker->ring_head++];
	if (worker->ring_head == worker->depth)
		worker->ring_head = 0;
	worker->ring_count--;
	return slot;
}

static void collect(struct kspeed_worker *worker)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&worker->returned));
	struct kspeed_slot *slot, *next;
	int count = 0;

	llist_for_each_entry_safe(slot, next, list, node) {
		ring_push(worker, slot);
		count++;
	}
	atomic_sub(count, &worker->returned_count);
}

/* The thread owns none: everything is in flight or just back. */
static void refill(struct kspeed_worker *worker)
{
	int back = atomic_read(&worker->returned_count);
	unsigned int in_flight = worker->depth - clamp_t(int, back, 0, worker->depth);

	worker->in_flight_max = max(worker->in_flight_max, in_flight);
	if (worker->gather || !back)
		wait_for_returned(worker, worker->refill_at);
	collect(worker);
}

/* The driver has no room: wait for one of ours, else for somebody else's. */
static void back_off(struct kspeed_worker *worker)
{
	unsigned int idle = worker->ring_count + atomic_read(&worker->returned_count);

	if (idle < worker->depth) {
		worker->in_flight_max = max(worker->in_flight_max, worker->depth - idle);
		wait_for_returned(worker, 1);
	} else {
		usleep_range(20, 100);
	}
	collect(worker);
}

/* Completed within the call: the next one to submit, NULL if none is at hand. */
static struct kspeed_slot *next_after(struct kspeed_worker *worker, struct kspeed_slot *slot)
{
	if (worker->gather)
		kspeed_worker_give_back(worker, slot);
	else if (!worker->ring_count)
		return slot;
	else
		ring_push(worker, slot);
	return ring_pop(worker);
}

static struct kspeed_slot *next_after_refusal(struct kspeed_worker *worker,
					      struct kspeed_slot *slot)
{
	ring_push(worker, slot);
	back_off(worker);
	return ring_pop(worker);
}

/* @now_ns: when @slot is submitted, then when it was complete; 0: not known. */
static struct kspeed_slot *submit_one(struct kspeed_worker *worker, struct kspeed_slot *slot,
				      u64 *now_ns)
{
	if (!*now_ns && worker->run->spec.latency)
		*now_ns = ktime_get_ns();
	switch (kspeed_slot_submit(slot, now_ns)) {
	case KSPEED_DONE:
		return next_after(worker, slot);
	case KSPEED_REJECTED:
		return next_after_refusal(worker, slot);
	default:
		return ring_pop(worker);
	}
}

static void measure(struct kspeed_worker *worker)
{
	struct kspeed_slot *slot = ring_pop(worker);
	u64 now_ns = 0;

	while (kspeed_run_phase(worker->run) < KSPEED_DRAINING) {
		if (!slot) {
			refill(worker);
			slot = ring_pop(worker);
			now_ns = 0;
			continue;
		}
		/* An end is the next start, unless something came between. */
		slot = submit_one(worker, slot, &now_ns);
		if (need_resched() && cond_resched())
			now_ns = 0;
	}
	if (slot)
		ring_push(worker, slot);
}

static void drain(struct kspeed_worker *worker)
{
	collect(worker);
	while (worker->ring_count < worker->depth) {
		wait_for_returned(worker, worker->depth - worker->ring_count);
		collect(worker);
	}
}

static void wait_to_be_stopped(void)
{
	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
}

static int work(void *data)
{
	struct kspeed_worker *worker = data;

	kspeed_run_arrive(worker->run);
	measure(worker);
	drain(worker);
	complete(&worker->drained);
	wait_to_be_stopped();
	return 0;
}

static unsigned int refill_threshold(const struct kspeed_spec *spec)
{
	switch (spec->mode) {
	case KSPEED_BATCH:
		return spec->depth;
	case KSPEED_ASYNC:
		return spec->refill;
	default:
		return 1;
	}
}

static int check_memory(struct kspeed_worker *worker, struct kspeed_fault *fault)
{
	const struct kspeed_spec *spec = worker->transform.spec;
	u64 slots = (u64)spec->depth * spec->thread_count;
	u64 bytes = slots * kspeed_slot_cost(&worker->transform);
	u64 available = (u64)max(si_mem_available(), 0l) << PAGE_SHIFT;

	if (bytes > KSPEED_MEMORY_BYTES_MAX) {
		kspeed_fault(fault, -E2BIG, "",
			     "choose a smaller size, depth or number of threads",
			     "%llu requests of %u bytes need %llu KiB", slots,
			     spec->size_bytes, bytes >> 10);
		kspeed_fault_limit(fault, "%u KiB for one run", KSPEED_MEMORY_BYTES_MAX >> 10);
		return fault->code;
	}
	/* Only the first worker can judge: the others' share is taken then. */
	if (worker->run->worker_count || bytes <= available - available / 4)
		return 0;
	kspeed_fault(fault, -ENOMEM, "", "choose a smaller size, depth or number of threads",
		     "%llu requests of %u bytes need %llu KiB", slots, spec->size_bytes,
		     bytes >> 10);
	kspeed_fault_limit(fault, "three quarters of the %llu KiB that are available",
			   available >> 10);
	return fault->code;
}

static int refused(struct kspeed_worker *worker, int err, struct kspeed_fault *fault)
{
	const char *driver = kspeed_transform_driver(&worker->transform);

	if (worker->transform.lost)
		return kspeed_fault_lost(fault, driver);
	return kspeed_fault(fault, err, "what the driver accepts",
			    "choose another size, key, aad or tag",
			    "\"%s\" refuses a request of size=%u (%d)", driver,
			    worker->transform.spec->size_bytes, err);
}

static int alloc_slots(struct kspeed_worker *worker, unsigned int index,
		       struct kspeed_fault *fault)
{
	const struct kspeed_type *type = worker->transform.spec->type;
	unsigned int i;

	worker->slots = kcalloc(worker->depth, sizeof(*worker->slots), KSPEED_GFP);
	worker->ring = kcalloc(worker->depth, sizeof(*worker->ring), KSPEED_GFP);
	if (!worker->slots || !worker->ring)
		return kspeed_fault_memory(fault, "the pool of requests");
	for (i = 0; i < worker->depth; i++) {
		u32 seed = index * worker->depth + i;
		int err;

		worker->slots[i] = kspeed_slot_alloc(worker, &worker->transform, seed);
		if (!worker->slots[i])
			return kspeed_fault_memory(fault, "a request and its buffers");
		err = type->fill(worker->slots[i], seed);
		if (err)
			return refused(worker, err, fault);
		ring_push(worker, worker->slots[i]);
		cond_resched();
	}
	return 0;
}

/* What the driver will not take shows here, not as a run of errors. */
static int try_one(struct kspeed_worker *worker, struct kspeed_fault *fault)
{
	int err = kspeed_slot_run_once(worker->slots[0]);
	unsigned int i;

	if (err)
		return refused(worker, err, fault);
	for (i = 0; i < worker->depth; i++)
		kspeed_slot_arm(worker->slots[i]);
	return 0;
}

static int create_thread(struct kspeed_worker *worker, unsigned int index,
			 struct kspeed_fault *fault)
{
	struct task_struct *task = kthread_create_on_node(work, worker, cpu_to_node(worker->cpu),
							  "kspeed/%u", index);

	if (IS_ERR(task))
		return kspeed_fault(fault, PTR_ERR(task), "the kernel's threads",
				    "choose fewer threads", "thread %u cannot be created",
				    index);
	kthread_bind(task, worker->cpu);
	worker->task = task;
	return 0;
}

struct kspeed_worker *kspeed_worker_create(struct kspeed_run *run, unsigned int index,
					   unsigned int cpu, struct kspeed_fault *fault)
{
	const struct kspeed_spec *spec = &run->spec;
	struct kspeed_worker *worker = kzalloc_node(sizeof(*worker), KSPEED_GFP,
						    cpu_to_node(cpu));

	if (!worker) {
		kspeed_fault_memory(fault, "a thread's state");
		return NULL;
	}
	worker->run = run;
	worker->cpu = cpu;
	worker->depth = spec->depth;
	worker->refill_at = refill_threshold(spec);
	worker->gather = spec->mode == KSPEED_BATCH;
	worker->callback_submits = spec->mode == KSPEED_RESUBMIT;
	init_llist_head(&worker->returned);
	init_completion(&worker->drained);
	if (kspeed_transform_open(&worker->transform, spec, run->driver, 0, fault) ||
	    check_memory(worker, fault) || alloc_slots(worker, index, fault) ||
	    try_one(worker, fault) || create_thread(worker, index, fault)) {
		kspeed_worker_free(worker);
		return NULL;
	}
	return worker;
}

bool kspeed_worker_drained(struct kspeed_worker *worker)
{
	while (!wait_for_completion_timeout(&worker->drained, KSPEED_PATIENCE_SECONDS * HZ)) {
		/* While the module is being unloaded there is only waiting. */
		if (try_module_get(THIS_MODULE))
			return false;
	}
	return true;
}

void kspeed_worker_free(struct kspeed_worker *worker)
{
	unsigned int i;

	if (!worker)
		return;
	/* Not before: the tail of a callback may still wake it. */
	if (worker->task)
		kthread_stop(worker->task);
	for (i = 0; worker->slots && i < worker->depth; i++)
		kspeed_slot_free(worker->slots[i]);
	kfree(worker->ring);
	kfree(worker->slots);
	kspeed_transform_close(&worker->transform);
	kfree(worker);
}
