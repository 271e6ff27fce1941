/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How far a sink is: one more than the highest sequence that it counted. On a line
 * of memory of its own, written once in so many sequences: the generator that
 * waits for it runs on another CPU.
 */
#ifndef LOCKGATE_REACHED_H
#define LOCKGATE_REACHED_H

#include "kernel.h"

enum { REACHED_STEP = 16 };

struct reached {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
};

#endif
