/* SPDX-License-Identifier: GPL-2.0-only */
/* One run from the first allocation to the published result. */
#ifndef KSPEED_RUN_H
#define KSPEED_RUN_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>

#include "latency.h"
#include "report.h"
#include "spec.h"
#include "worker.h"

enum kspeed_phase {
	KSPEED_PREPARING,
	KSPEED_WARMING_UP,
	KSPEED_MEASURING,
	KSPEED_DRAINING,
};

struct kspeed_run {
	struct kspeed_spec spec;
	char driver[CRYPTO_MAX_ALG_NAME];	/* resolved */
	/* Per CPU, because completions of one thread can come from several at once. */
	struct kspeed_histogram __percpu *times[KSPEED_STAGES];
	unsigned int worker_count;
	struct kspeed_worker *workers[KSPEED_THREADS_MAX];
	struct kspeed_report *report;
	bool stopped;
	bool lost;			/* a driver has kept a request of it */
	atomic_t absent;		/* threads that do not run yet */
	struct completion clock_started;

	/* Read for every request, written three times. */
	enum kspeed_phase phase ____cacheline_aligned_in_smp;
	struct hrtimer timer ____cacheline_aligned_in_smp;
	ktime_t started;
	ktime_t ended;
};

static inline enum kspeed_phase kspeed_run_phase(const struct kspeed_run *run)
{
	return READ_ONCE(run->phase);
}

/* A thread runs; the last one starts the clock. */
void kspeed_run_arrive(struct kspeed_run *run);

int kspeed_runs_init(void);
/* Stops, drains and frees whatever there is. */
void kspeed_runs_exit(void);

/* Prepares and starts; returns while it runs. 0 or the fault's code. */
int kspeed_run_start(const struct kspeed_spec *spec, struct kspeed_fault *fault);
void kspeed_run_stop(void);
/* Remembers a fault as the last result, unless a run is under way. */
void kspeed_run_refuse(const struct kspeed_fault *fault);

struct seq_file;
int kspeed_show_status(struct seq_file *file);
/* Waits for the end of a run; -ERESTARTSYS if a signal comes first. */
int kspeed_show_result(struct seq_file *file);
int kspeed_show_tcrypt(struct seq_file *file);

#endif
