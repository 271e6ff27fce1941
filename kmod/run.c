// SPDX-License-Identifier: GPL-2.0-only
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "json.h"
#include "run.h"
#include "slot.h"
#include "verify.h"

static void finish(struct work_struct *work);

static DEFINE_MUTEX(runs_lock);
/* Under the lock; the timer's and the threads' run is current_run while it lasts. */
static struct kspeed_run *current_run;
static struct kspeed_report *last_report;
static struct kspeed_fault last_refusal;
static DECLARE_WAIT_QUEUE_HEAD(run_ended);
static DECLARE_WORK(finish_work, finish);
static struct workqueue_struct *finish_queue;

static enum hrtimer_restart next_phase(struct hrtimer *timer)
{
	struct kspeed_run *run = container_of(timer, struct kspeed_run, timer);

	if (run->phase == KSPEED_WARMING_UP) {
		run->started = ktime_get();
		WRITE_ONCE(run->phase, KSPEED_MEASURING);
		hrtimer_set_expires(timer, ktime_add_ms(run->started, run->spec.ms));
		return HRTIMER_RESTART;
	}
	run->ended = ktime_get();
	WRITE_ONCE(run->phase, KSPEED_DRAINING);
	queue_work(finish_queue, &finish_work);
	return HRTIMER_NORESTART;
}

static void run_free(struct kspeed_run *run)
{
	unsigned int i;

	for (i = 0; i < run->worker_count; i++)
		kspeed_worker_free(run->workers[i]);
	for (i = 0; i < KSPEED_STAGES; i++)
		free_percpu(run->times[i]);
	kspeed_report_free(run->report);
	kfree(run);
}

static bool alloc_counters(struct kspeed_run *run)
{
	unsigned int i;

	for (i = 0; i < KSPEED_STAGES; i++) {
		run->times[i] = alloc_percpu(struct kspeed_histogram);
		if (!run->times[i])
			return false;
	}
	run->report = kspeed_report_alloc(run->spec.thread_count);
	return run->report;
}

/*
 * Without cpus_read_lock(): templates take it in a thread of the crypto API's
 * while we wait for them, which behind a waiting writer is a deadlock. The
 * scheduler moves a thread whose CPU has gone.
 */
static int create_workers(struct kspeed_run *run, struct kspeed_fault *fault)
{
	int cpu = -1;

	while (run->worker_count < run->spec.thread_count) {
		struct kspeed_worker *worker;

		cpu = cpumask_next(cpu, cpu_online_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_online_mask);
		worker = kspeed_worker_create(run, run->worker_count, cpu, fault);
		if (!worker)
			return fault->code;
		run->workers[run->worker_count++] = worker;
		/* So that all the others find the same driver. */
		strscpy(run->driver, kspeed_transform_driver(&worker->transform),
			sizeof(run->driver));
	}
	return 0;
}

static struct kspeed_run *run_create(const struct kspeed_spec *spec,
				     struct kspeed_fault *fault)
{
	struct kspeed_run *run = kzalloc(sizeof(*run), GFP_KERNEL);
	int err;

	if (!run) {
		kspeed_fault_memory(fault, "the run");
		return NULL;
	}
	run->spec = *spec;
	kspeed_transform_resolve(&run->spec, run->driver);
	kspeed_timer_setup(&run->timer, next_phase);
	atomic_set(&run->absent, spec->thread_count);
	init_completion(&run->clock_started);
	if (alloc_counters(run))
		err = create_workers(run, fault);
	else
		err = kspeed_fault_memory(fault, "the counters");
	if (!err)
		return run;
	run_free(run);
	return NULL;
}

/* Before the clock starts, what the threads do is warm-up. */
void kspeed_run_arrive(struct kspeed_run *run)
{
	unsigned int first_ms = run->spec.warmup_ms ?: run->spec.ms;

	if (!atomic_dec_and_test(&run->absent))
		return;
	run->started = ktime_get();
	WRITE_ONCE(run->phase, run->spec.warmup_ms ? KSPEED_WARMING_UP : KSPEED_MEASURING);
	hrtimer_start(&run->timer, ktime_add_ms(run->started, first_ms),
		      HRTIMER_MODE_ABS_HARD);
	complete_all(&run->clock_started);
}

static void launch(struct kspeed_run *run)
{
	unsigned int i;

	current_run = run;
	for (i = 0; i < run->worker_count; i++)
		wake_up_process(run->workers[i]->task);
}

int kspeed_run_start(const struct kspeed_spec *spec, struct kspeed_fault *fault)
{
	struct kspeed_run *run;
	int err = 0;

	if (mutex_lock_interruptible(&runs_lock))
		return kspeed_fault(fault, -EINTR, "", "write it again",
				    "a signal came before the start");
	if (current_run) {
		err = kspeed_fault(fault, -EBUSY, "one run at a time",
				   "wait for its result, or write stop",
				   "a run is under way");
		fault->is_aside = true;
	} else {
		run = run_create(spec, fault);
		if (run)
			launch(run);
		else
			err = fault->code;
	}
	mutex_unlock(&runs_lock);
	return err;
}

static void stop_locked(struct kspeed_run *run)
{
	wait_for_completion(&run->clock_started);
	hrtimer_cancel(&run->timer);
	if (run->phase == KSPEED_DRAINING)
		return;
	run->stopped = true;
	run->ended = ktime_get();
	if (run->phase == KSPEED_WARMING_UP)
		run->started = run->ended;
	WRITE_ONCE(run->phase, KSPEED_DRAINING);
	queue_work(finish_queue, &finish_work);
}

void kspeed_run_stop(void)
{
	mutex_lock(&runs_lock);
	if (current_run)
		stop_locked(current_run);
	mutex_unlock(&runs_lock);
}

static void set_last_report(struct kspeed_report *report)
{
	kspeed_report_free(last_report);
	last_report = report;
}

void kspeed_run_refuse(const struct kspeed_fault *fault)
{
	struct kspeed_report *report;

	pr_err("%s; limit: %s; remedy: %s\n", fault->what, fault->limit, fault->remedy);
	mutex_lock(&runs_lock);
	last_refusal = *fault;
	/* That run may have ended meanwhile, and nobody has read its result. */
	if (!current_run && !fault->is_aside) {
		report = kspeed_report_alloc(0);
		if (report)
			report->fault = *fault;
		set_last_report(report);
	}
	mutex_unlock(&runs_lock);
}

static bool drain_workers(struct kspeed_run *run)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < run->worker_count; i++)
		all &= kspeed_worker_drained(run->workers[i]);
	return all;
}

/* False: a driver still writes to the run's memory. */
static bool settle_report(struct kspeed_run *run, bool drained)
{
	struct kspeed_report *report = run->report;

	if (drained) {
		kspeed_report_collect(report, run);
		if (!report->fault.code)
			kspeed_verify(run, report, &report->fault);
	} else {
		kspeed_fault_lost(&report->fault, run->driver);
	}
	if (report->fault.code)
		pr_err("%s; limit: %s; remedy: %s\n", report->fault.what,
		       report->fault.limit, report->fault.remedy);
	return drained && !run->lost;
}

static void publish(struct kspeed_run *run)
{
	mutex_lock(&runs_lock);
	set_last_report(run->report);
	run->report = NULL;
	last_refusal.code = 0;
	WRITE_ONCE(current_run, NULL);
	mutex_unlock(&runs_lock);
	wake_up_all(&run_ended);
}

static void finish(struct work_struct *work)
{
	struct kspeed_run *run = current_run;
	bool drained = drain_workers(run);
	bool unused;

	/* The tails of callbacks; see completed() in slot.c. */
	synchronize_rcu();
	unused = settle_report(run, drained);
	publish(run);
	if (unused)
		run_free(run);
}

int kspeed_runs_init(void)
{
	finish_queue = alloc_workqueue("lockgate_kspeed", WQ_UNBOUND, 1);
	return finish_queue ? 0 : -ENOMEM;
}

void kspeed_runs_exit(void)
{
	kspeed_run_stop();
	destroy_workqueue(finish_queue);
	kspeed_report_free(last_report);
}

static u64 completed_so_far(const struct kspeed_run *run)
{
	u64 completed = 0;
	unsigned int i, j;

	for (i = 0; i < run->worker_count; i++)
		for (j = 0; j < run->spec.depth; j++)
			completed += READ_ONCE(run->workers[i]->slots[j]->completed);
	return completed;
}

static void status_of_run(struct seq_file *file, const struct kspeed_run *run)
{
	enum kspeed_phase phase = kspeed_run_phase(run);
	ktime_t elapsed = 0;

	if (phase == KSPEED_MEASURING)
		elapsed = ktime_sub(ktime_get(), run->started);
	else if (phase == KSPEED_DRAINING)
		elapsed = ktime_sub(run->ended, run->started);
	seq_printf(file, "{\"state\":\"%s\",\"elapsed_ns\":%lld,\"completed\":%llu",
		   phase == KSPEED_DRAINING ? "draining" : "running", ktime_to_ns(elapsed),
		   completed_so_far(run));
}

int kspeed_show_status(struct seq_file *file)
{
	if (mutex_lock_interruptible(&runs_lock))
		return -ERESTARTSYS;
	if (current_run)
		status_of_run(file, current_run);
	else
		seq_printf(file, "{\"state\":\"idle\",\"elapsed_ns\":%llu,\"completed\":%llu",
			   last_report ? last_report->elapsed_ns : 0,
			   last_report ? last_report->completed : 0);
	seq_puts(file, ",\"refused\":");
	if (last_refusal.code)
		kspeed_json_fault(file, &last_refusal);
	else
		seq_puts(file, "null");
	seq_puts(file, "}\n");
	mutex_unlock(&runs_lock);
	return 0;
}

/* Ends with the lock held and no run under way. */
static int lock_when_idle(void)
{
	for (;;) {
		if (wait_event_interruptible(run_ended, !READ_ONCE(current_run)))
			return -ERESTARTSYS;
		if (mutex_lock_interruptible(&runs_lock))
			return -ERESTARTSYS;
		if (!current_run)
			return 0;
		mutex_unlock(&runs_lock);
	}
}

static int show_last(struct seq_file *file,
		     void (*show)(struct seq_file *file, const struct kspeed_report *report))
{
	static const struct kspeed_report none = {
		.fault = {
			.code = -ENODATA,
			.what = "there is no result",
			.limit = "a run that has ended",
			.remedy = "write start to control",
		},
	};
	int err = lock_when_idle();

	if (err)
		return err;
	show(file, last_report ?: &none);
	mutex_unlock(&runs_lock);
	return 0;
}

int kspeed_show_result(struct seq_file *file)
{
	return show_last(file, kspeed_report_json);
}

int kspeed_show_tcrypt(struct seq_file *file)
{
	return show_last(file, kspeed_report_tcrypt);
}
