/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lets several generators take turns in one run: one thread sends by many ports
 * with no switch between threads. Run by BPF_PROG_TEST_RUN with live frames; each
 * turn ends in a generator, which paces itself.
 */
#include "kernel.h"

enum { BPF_MAP_TYPE_PROG_ARRAY = 3, GENERATORS_MAX = 32 };

static long (*const bpf_tail_call)(void *ctx, void *programs, u32 index) = (void *)12;

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_PROG_ARRAY);
	MAP_NUMBER(max_entries, GENERATORS_MAX);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} generators SEC(".maps");

struct turn {
	/* Whose turn is next. */
	u32 next;
	/* How many there are: written by user space. */
	u32 count;
};

struct turn turn SEC(".data.turn");

SEC("xdp")
int take_turns(struct xdp_md *ctx)
{
	u32 index = turn.next;

	turn.next = index + 1 < turn.count ? index + 1 : 0;
	bpf_tail_call(ctx, &generators, index);
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
