/* SPDX-License-Identifier: GPL-2.0-only */
/* The figures of a run that has ended, and the two ways to write them. */
#ifndef KSPEED_REPORT_H
#define KSPEED_REPORT_H

#include "fault.h"
#include "latency.h"
#include "spec.h"

struct kspeed_run;
struct seq_file;

struct kspeed_thread_report {
	unsigned int cpu;
	unsigned int in_flight_max;
	u64 completed;
	u64 errors;
	u64 backlogged;
	u64 completed_inline;
	u64 rejected;
	u64 in_interrupt;
};

struct kspeed_report {
	struct kspeed_spec spec;
	struct kspeed_fault fault;	/* code 0: the figures hold */
	char algorithm[CRYPTO_MAX_ALG_NAME];
	char driver[CRYPTO_MAX_ALG_NAME];
	char verified_by[CRYPTO_MAX_ALG_NAME];
	bool is_async;
	bool stopped;
	u64 clock_read_ns;
	u64 elapsed_ns;
	u64 completed;
	u64 errors;
	u64 latency_min_ns;
	u64 latency_max_ns;
	struct kspeed_histogram times[KSPEED_STAGES];
	u64 counts[KSPEED_STAGES];
	unsigned int thread_count;
	struct kspeed_thread_report threads[];
};

struct kspeed_report *kspeed_report_alloc(unsigned int thread_count);
void kspeed_report_free(struct kspeed_report *report);
/* Only when the run has drained. */
void kspeed_report_collect(struct kspeed_report *report, struct kspeed_run *run);

void kspeed_report_json(struct seq_file *file, const struct kspeed_report *report);
void kspeed_report_tcrypt(struct seq_file *file, const struct kspeed_report *report);

#endif
