/* SPDX-License-Identifier: GPL-2.0-only */
/* Log-linear histogram of nanoseconds: exact below 32, then 32 buckets to a
 * power of two (1/32 = 3.1% wide), the last one open.
 */
#ifndef KSPEED_LATENCY_H
#define KSPEED_LATENCY_H

#include <linux/types.h>

#define KSPEED_LATENCY_SUB_BITS	5
#define KSPEED_LATENCY_BITS_MAX	36
#define KSPEED_LATENCY_BUCKETS	\
	((KSPEED_LATENCY_BITS_MAX - KSPEED_LATENCY_SUB_BITS + 1) << KSPEED_LATENCY_SUB_BITS)

/* What is timed of a request. */
enum kspeed_stage {
	KSPEED_LATENCY,		/* from the call to the callback, or to its return */
	KSPEED_SUBMIT,		/* the call into the driver */
	KSPEED_WAIT,		/* from its return to the callback; 0: that came first */
	KSPEED_CALLBACK,	/* in the callback */
	KSPEED_STAGES,
};

struct kspeed_histogram {
	u64 sum_ns;
	u64 buckets[KSPEED_LATENCY_BUCKETS];
};

unsigned int kspeed_latency_bucket(u64 ns);
/* The largest value that falls into the bucket. */
u64 kspeed_latency_upper(unsigned int bucket);

#endif
