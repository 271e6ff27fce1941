// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "fault.h"

int kspeed_fault(struct kspeed_fault *fault, int code, const char *limit,
		 const char *remedy, const char *format, ...)
{
	va_list args;

	fault->code = code;
	strscpy(fault->limit, limit, sizeof(fault->limit));
	strscpy(fault->remedy, remedy, sizeof(fault->remedy));
	va_start(args, format);
	vscnprintf(fault->what, sizeof(fault->what), format, args);
	va_end(args);
	return code;
}

void kspeed_fault_limit(struct kspeed_fault *fault, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vscnprintf(fault->limit, sizeof(fault->limit), format, args);
	va_end(args);
}

int kspeed_fault_memory(struct kspeed_fault *fault, const char *what)
{
	return kspeed_fault(fault, -ENOMEM, "the memory that is free now",
			    "choose a smaller size, depth or number of threads",
			    "no memory for %s", what);
}
