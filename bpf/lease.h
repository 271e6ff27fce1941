/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a program knows of its router holds for a time only. Whoever watches for
 * changes notes when it looks, tells what it saw, and then says that it did: the
 * lease counts from the look, so that nothing older is ever used, whatever
 * keeps the watcher. Without a lease every frame is the kernel's.
 */
#ifndef LOCKGATE_LEASE_H
#define LOCKGATE_LEASE_H

#include "kernel.h"

struct lease {
	/* By the kernel's ticks; 0: nobody has looked yet. */
	u64 until_ticks;
};

struct lease lease SEC(".data.lease");

INLINE int is_watched(u64 now_ticks)
{
	return now_ticks <= *(volatile u64 *)&lease.until_ticks;
}

struct moment {
	u64 ticks;
};

/* Run by user space before it looks: what time it is. */
SEC("syscall")
int look(struct moment *now)
{
	now->ticks = bpf_jiffies64();
	return 0;
}

/* Run by user space when it has told all that it saw: until when that holds. */
SEC("syscall")
int renew(struct moment *until)
{
	*(volatile u64 *)&lease.until_ticks = until->ticks;
	return 0;
}

#endif
