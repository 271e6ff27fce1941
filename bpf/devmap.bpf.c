/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A wire between two ports: every frame leaves by the other one as it came. No
 * router, but the least that a path which redirects can cost.
 */
#include "counters.h"

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_DEVMAP);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} other SEC(".maps");

SEC("xdp")
int wire(struct xdp_md *ctx)
{
	struct counters *c = counters_of(0);

	(void)ctx;
	if (!c)
		return XDP_ABORTED;
	c->received++;
	c->forwarded++;
	return bpf_redirect_map(&other, 0, XDP_ABORTED);
}

char _license[] SEC("license") = "GPL";
