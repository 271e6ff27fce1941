/* SPDX-License-Identifier: GPL-2.0-only */
/* An error as people want to read it: what, which limit, which remedy. */
#ifndef KSPEED_FAULT_H
#define KSPEED_FAULT_H

#include <linux/compiler_attributes.h>
#include <linux/types.h>

struct kspeed_fault {
	int code;		/* negative errno; 0: no fault */
	bool is_aside;		/* of a run that goes on: its result stays */
	char what[256];
	char limit[160];
	char remedy[192];
};

/* Fills @fault and returns @code, so that callers can return it at once. */
__printf(5, 6)
int kspeed_fault(struct kspeed_fault *fault, int code, const char *limit,
		 const char *remedy, const char *format, ...);

/* Replaces the limit by one that is known only at run time. */
__printf(2, 3)
void kspeed_fault_limit(struct kspeed_fault *fault, const char *format, ...);

int kspeed_fault_memory(struct kspeed_fault *fault, const char *what);

#endif
