// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "json.h"
#include "report.h"
#include "run.h"
#include "slot.h"

#define CLOCK_READS	256

struct kspeed_report *kspeed_report_alloc(unsigned int thread_count)
{
	struct kspeed_report *report =
		kvzalloc(struct_size(report, threads, thread_count), GFP_KERNEL);

	if (report)
		report->thread_count = thread_count;
	return report;
}

void kspeed_report_free(struct kspeed_report *report)
{
	kvfree(report);
}

static u64 clock_read_ns(void)
{
	u64 start = ktime_get_ns();
	unsigned int i;

	for (i = 1; i < CLOCK_READS; i++)
		ktime_get_ns();
	return div_u64(ktime_get_ns() - start, CLOCK_READS);
}

static void collect_slot(struct kspeed_report *report, struct kspeed_thread_report *thread,
			 const struct kspeed_slot *slot)
{
	thread->completed += slot->completed;
	thread->errors += slot->errors;
	thread->backlogged += slot->backlogged;
	thread->completed_inline += slot->completed_inline;
	thread->rejected += slot->rejected;
	thread->in_interrupt += slot->in_interrupt;
	report->latency_min_ns = min(report->latency_min_ns, slot->latency_min_ns);
	report->latency_max_ns = max(report->latency_max_ns, slot->latency_max_ns);
}

static void collect_thread(struct kspeed_report *report, unsigned int index,
			   const struct kspeed_worker *worker)
{
	struct kspeed_thread_report *thread = &report->threads[index];
	unsigned int i;

	thread->cpu = worker->cpu;
	for (i = 0; i < worker->depth; i++)
		collect_slot(report, thread, worker->slots[i]);
	/* What was complete before the thread looked was in flight all the same. */
	thread->in_flight_max = max(worker->in_flight_max, thread->completed ? 1u : 0u);
	report->completed += thread->completed;
	report->errors += thread->errors;
}

static void collect_times(struct kspeed_report *report, struct kspeed_run *run,
			  enum kspeed_stage stage)
{
	struct kspeed_histogram *sum = &report->times[stage];
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct kspeed_histogram *own = per_cpu_ptr(run->times[stage], cpu);

		sum->sum_ns += own->sum_ns;
		for (i = 0; i < KSPEED_LATENCY_BUCKETS; i++) {
			sum->buckets[i] += own->buckets[i];
			report->counts[stage] += own->buckets[i];
		}
	}
}

static void judge(struct kspeed_report *report)
{
	if (report->completed || !report->errors)
		return;
	kspeed_fault(&report->fault, -EIO, "at least one request that succeeds",
		     "see the kernel's log for what the driver says",
		     "all %llu requests of \"%s\" failed", report->errors, report->driver);
}

void kspeed_report_collect(struct kspeed_report *report, struct kspeed_run *run)
{
	const struct kspeed_transform *transform = &run->workers[0]->transform;
	unsigned int i;

	report->spec = run->spec;
	report->stopped = run->stopped;
	report->is_async = kspeed_transform_is_async(transform);
	strscpy(report->algorithm, kspeed_transform_algorithm(transform),
		sizeof(report->algorithm));
	strscpy(report->driver, kspeed_transform_driver(transform), sizeof(report->driver));
	report->clock_read_ns = clock_read_ns();
	report->elapsed_ns = ktime_to_ns(ktime_sub(run->ended, run->started));
	report->latency_min_ns = U64_MAX;
	for (i = 0; i < run->worker_count; i++)
		collect_thread(report, i, run->workers[i]);
	for (i = 0; i < KSPEED_STAGES; i++)
		collect_times(report, run, i);
	if (!report->counts[KSPEED_LATENCY])
		report->latency_min_ns = 0;
	judge(report);
}

static void json_field(struct seq_file *file, const char *name, const char *text)
{
	seq_printf(file, ",\"%s\":", name);
	kspeed_json_string(file, text);
}

static const char *boolean(bool value)
{
	return value ? "true" : "false";
}

static void json_head(struct seq_file *file, const struct kspeed_report *report)
{
	const struct kspeed_spec *spec = &report->spec;

	seq_puts(file, "{\"schema\":1,\"ok\":true");
	json_field(file, "type", spec->type->name);
	json_field(file, "algorithm", report->algorithm);
	json_field(file, "driver", report->driver);
	seq_printf(file, ",\"is_async\":%s", boolean(report->is_async));
	json_field(file, "mode", kspeed_mode_names[spec->mode]);
	json_field(file, "op", kspeed_op_names[spec->op]);
	seq_printf(file, ",\"size_bytes\":%u,\"key_bytes\":%u,\"aad_bytes\":%u,\"tag_bytes\":%u",
		   spec->size_bytes, spec->key_bytes, spec->aad_bytes, spec->tag_bytes);
	seq_printf(file, ",\"in_place\":%s,\"backlog\":%s,\"depth\":%u,\"thread_count\":%u",
		   boolean(spec->in_place), boolean(spec->backlog), spec->depth,
		   spec->thread_count);
	seq_printf(file, ",\"ms\":%u,\"warmup_ms\":%u,\"stopped\":%s", spec->ms,
		   spec->warmup_ms, boolean(report->stopped));
}

static const char *const stage_names[] = {
	[KSPEED_LATENCY] = "latency_ns",
	[KSPEED_SUBMIT] = "submit_ns",
	[KSPEED_WAIT] = "wait_ns",
	[KSPEED_CALLBACK] = "callback_ns",
};

static void json_times(struct seq_file *file, const struct kspeed_report *report,
		       enum kspeed_stage stage)
{
	const struct kspeed_histogram *times = &report->times[stage];
	const char *comma = "";
	unsigned int i;

	seq_printf(file, ",\"%s\":", stage_names[stage]);
	if (!report->spec.latency) {
		seq_puts(file, "null");
		return;
	}
	seq_printf(file, "{\"count\":%llu,\"sum\":%llu,", report->counts[stage], times->sum_ns);
	if (stage == KSPEED_LATENCY)
		seq_printf(file, "\"min\":%llu,\"max\":%llu,", report->latency_min_ns,
			   report->latency_max_ns);
	seq_puts(file, "\"buckets\":[");
	for (i = 0; i < KSPEED_LATENCY_BUCKETS; i++) {
		if (!times->buckets[i])
			continue;
		seq_printf(file, "%s[%llu,%llu]", comma, kspeed_latency_upper(i),
			   times->buckets[i]);
		comma = ",";
	}
	seq_puts(file, "]}");
}

static void json_threads(struct seq_file *file, const struct kspeed_report *report)
{
	unsigned int i;

	seq_puts(file, ",\"threads\":[");
	for (i = 0; i < report->thread_count; i++) {
		const struct kspeed_thread_report *thread = &report->threads[i];

		seq_printf(file, "%s{\"cpu\":%u,\"completed\":%llu,\"errors\":%llu,", i ? "," : "",
			   thread->cpu, thread->completed, thread->errors);
		seq_printf(file, "\"backlogged\":%llu,\"completed_inline\":%llu,\"rejected\":%llu,",
			   thread->backlogged, thread->completed_inline, thread->rejected);
		seq_printf(file, "\"in_interrupt\":%llu,\"in_flight_max\":%u}",
			   thread->in_interrupt, thread->in_flight_max);
	}
	seq_puts(file, "]}\n");
}

void kspeed_report_json(struct seq_file *file, const struct kspeed_report *report)
{
	unsigned int i;

	if (report->fault.code) {
		seq_puts(file, "{\"schema\":1,\"ok\":false,\"error\":");
		kspeed_json_fault(file, &report->fault);
		seq_puts(file, "}\n");
		return;
	}
	json_head(file, report);
	seq_printf(file, ",\"elapsed_ns\":%llu,\"completed\":%llu,\"bytes\":%llu,\"errors\":%llu",
		   report->elapsed_ns, report->completed,
		   report->completed * report->spec.size_bytes, report->errors);
	seq_printf(file, ",\"verified\":%s", boolean(report->verified_by[0]));
	json_field(file, "verified_by", report->verified_by);
	seq_printf(file, ",\"clock_read_ns\":%llu", report->clock_read_ns);
	for (i = 0; i < KSPEED_STAGES; i++)
		json_times(file, report, i);
	json_threads(file, report);
}

/* tcrypt counts in whole seconds, so the rate is written as of one second. */
void kspeed_report_tcrypt(struct seq_file *file, const struct kspeed_report *report)
{
	const struct kspeed_spec *spec = &report->spec;
	u64 rate;

	if (report->fault.code) {
		seq_printf(file, "%s\n", report->fault.what);
		return;
	}
	rate = report->elapsed_ns ?
	       mul_u64_u64_div_u64(report->completed, NSEC_PER_SEC, report->elapsed_ns) : 0;
	if (spec->op == KSPEED_DIGEST) {
		seq_printf(file, "testing speed of async %s (%s)\n", report->algorithm,
			   report->driver);
		seq_printf(file, "test%3u (%5u byte blocks,%5u bytes per update,%4u updates): %6llu opers/sec, %9llu bytes/sec\n",
			   0, spec->size_bytes, spec->size_bytes, 1, rate,
			   rate * spec->size_bytes);
		return;
	}
	seq_printf(file, "testing speed of %s %s (%s) %sion\n",
		   spec->mode == KSPEED_BATCH ? "multibuffer" : "async", report->algorithm,
		   report->driver, kspeed_op_names[spec->op]);
	seq_printf(file, "test 0 (%u bit key, %u byte blocks): %llu operations in 1 seconds (%llu bytes)\n",
		   spec->key_bytes * 8, spec->size_bytes, rate, rate * spec->size_bytes);
}
