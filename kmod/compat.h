/* SPDX-License-Identifier: GPL-2.0-only */
/* What changed in the kernel's interfaces between 6.1 and now. */
#ifndef KSPEED_COMPAT_H
#define KSPEED_COMPAT_H

#include <linux/crypto.h>
#include <linux/hrtimer.h>
#include <linux/version.h>

/*
 * Before 6.3 a completion was handed a request, which with stacked drivers
 * is not always the caller's own: only its data pointer can be relied on.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
typedef void *kspeed_completion_arg;
static inline void *kspeed_completion_data(kspeed_completion_arg arg)
{
	return arg;
}
#else
typedef struct crypto_async_request *kspeed_completion_arg;
static inline void *kspeed_completion_data(kspeed_completion_arg arg)
{
	return arg->data;
}
#endif

static inline void kspeed_timer_setup(struct hrtimer *timer,
				      enum hrtimer_restart (*fire)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, fire, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	timer->function = fire;
#endif
}

#endif
