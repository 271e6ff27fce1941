/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spreads frames over CPUs, all of a pair of addresses on the same one, where
 * the kernel takes them, or a second program forwards what is plain before that.
 */
#include "lookup.h"

enum { CPUS_MAX = 64 };

/* Which CPUs: written by user space. */
struct spread {
	u32 cpu[CPUS_MAX];
	u32 count;
};

struct spread spread SEC(".data.spread");

struct cpu_queue {
	u32 frames;
	/* The second program's file descriptor; none: the kernel. */
	u32 program;
};

/* User space says how many: as many as the host may have CPUs. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_CPUMAP);
	MAP_NUMBER(max_entries, CPUS_MAX);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct cpu_queue);
} cpus SEC(".maps");

/* Of the first program: what it forwards, it hands to a CPU. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct counters);
} spread_counters SEC(".maps");

/* Of a frame's addresses; 0 where it is not IP. */
INLINE u32 hash_of(struct xdp_md *ctx)
{
	struct ethernet *ethernet = DATA(ctx);
	u64 offset = sizeof(*ethernet);
	u64 mix;

	if ((void *)(ethernet + 1) + sizeof(struct vlan) > DATA_END(ctx))
		return 0;
	be16 type = ethernet->type;

	if (type == htons(ETHERTYPE_VLAN)) {
		type = ((struct vlan *)(ethernet + 1))->type;
		offset += sizeof(struct vlan);
	}
	void *network = (void *)ethernet + offset;

	if (type == htons(ETHERTYPE_IPV4) && network + sizeof(struct ipv4) <= DATA_END(ctx)) {
		struct ipv4 *ip = network;

		mix = ip->source ^ ip->destination;
	} else if (type == htons(ETHERTYPE_IPV6) &&
		   network + sizeof(struct ipv6) <= DATA_END(ctx)) {
		struct ipv6 *ip = network;

		mix = ip->source[0] ^ ip->source[1] ^ ip->destination[0] ^ ip->destination[1];
	} else {
		return 0;
	}
	return ((u32)(mix ^ mix >> 32) * 0x9e3779b1U) >> 1 | 1U << 31;
}

SEC("xdp")
int to_cpu(struct xdp_md *ctx)
{
	u32 first = 0;
	struct counters *c = bpf_map_lookup_elem(&spread_counters, &first);
	u32 hash = hash_of(ctx);
	u32 count = spread.count;

	if (!c)
		return XDP_ABORTED;
	c->received++;
	if (!hash || !count) {
		c->passed[REASON_NOT_IP]++;
		return XDP_PASS;
	}
	/* By the high bits of the product, which are the ones that differ. */
	u64 turn = (u64)(hash & 0x7fffffff) * count >> 31;

	if (turn >= CPUS_MAX)
		return XDP_ABORTED;
	c->forwarded++;
	return bpf_redirect_map(&cpus, spread.cpu[turn], XDP_PASS);
}

static __attribute__((always_inline)) int find_hop(struct xdp_md *ctx, struct counters *c,
						   const struct flow *flow, struct hop *hop)
{
	(void)c;
	return look_up(ctx, flow, hop);
}

SEC("xdp/cpumap")
int on_cpu(struct xdp_md *ctx)
{
	return forward(ctx);
}

char _license[] SEC("license") = "GPL";
