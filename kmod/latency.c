// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitops.h>

#include "latency.h"

#define SUB_BITS	KSPEED_LATENCY_SUB_BITS

unsigned int kspeed_latency_bucket(u64 ns)
{
	unsigned int shift;

	if (ns >> KSPEED_LATENCY_BITS_MAX)
		return KSPEED_LATENCY_BUCKETS - 1;
	if (!(ns >> SUB_BITS))
		return ns;
	shift = fls64(ns) - 1 - SUB_BITS;
	return (shift << SUB_BITS) + (unsigned int)(ns >> shift);
}

u64 kspeed_latency_upper(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 1u << SUB_BITS)
		return bucket;
	shift = (bucket >> SUB_BITS) - 1;
	return (((u64)bucket - ((u64)shift << SUB_BITS) + 1) << shift) - 1;
}
