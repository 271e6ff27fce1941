/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Since when answers hold. A change makes those old that it may concern: of the
 * destinations that a route reaches, of a neighbour, or all. Each count only grows,
 * so their sum is another after any change that concerns an answer.
 */
#ifndef LOCKGATE_AGES_H
#define LOCKGATE_AGES_H

#include "stale.h"

enum { AGE_CELLS = 1 << 16 };

struct ages {
	/* User space counts a change here before it counts it below. */
	u64 changes;
	u64 all;
	/* By the first 16 bits of an IPv4 address; by the first 32 of IPv6, folded. */
	u32 v4[AGE_CELLS];
	u32 v6[AGE_CELLS];
	/* By `neighbour_cell`. */
	u32 neighbours[NEIGHBOUR_CELLS];
};

/* Written by user space. */
struct ages ages SEC(".bss.ages");

#define READ_AGE(count) (*(volatile typeof(count) *)&(count))

INLINE u64 changes_now(void)
{
	return READ_AGE(ages.changes);
}

INLINE u64 age_v4(be32 address)
{
	return READ_AGE(ages.all) + READ_AGE(ages.v4[ntohl(address) >> 16]);
}

INLINE u64 age_v6(be64 first)
{
	u32 high = (u32)first;

	return READ_AGE(ages.all) + READ_AGE(ages.v6[ntohs((u16)(high ^ high >> 16))]);
}

INLINE u64 age_of_neighbour(u32 cell)
{
	return READ_AGE(ages.neighbours[cell % NEIGHBOUR_CELLS]);
}

#endif
