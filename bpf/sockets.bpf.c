/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gives what is plain to the AF_XDP sockets of one port, whose program sends it
 * on; what is local or odd goes to the kernel, unchanged. Each port has its own.
 */
#include "route.h"

enum {
	QUEUES_MAX = 64,
	LOCALS_MAX = 1024,
	/* No reason: the frame is a socket's. */
	TO_SOCKET = REASONS,
};

/* By queue. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_XSKMAP);
	MAP_NUMBER(max_entries, QUEUES_MAX);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} sockets SEC(".maps");

/* IPv4: the address and zeros. */
struct local {
	be64 address[2];
	u64 is_v6;
};

/* The router's own addresses, and those of its networks as a whole. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, LOCALS_MAX);
	MAP_TYPE(key, struct local);
	MAP_TYPE(value, u32);
} locals SEC(".maps");

struct way {
	/* Of the port by which its frames leave. */
	u32 mtu;
};

struct way way SEC(".data.way");

INLINE int is_local(const struct flow *flow)
{
	struct local local = { .is_v6 = flow->is_v6 };

	if (flow->is_v6) {
		local.address[0] = flow->key[0];
		local.address[1] = flow->key[1];
	} else {
		local.address[0] = v4_destination(flow);
	}
	return bpf_map_lookup_elem(&locals, &local) != 0;
}

static __attribute__((always_inline)) int find_hop(struct xdp_md *ctx, struct counters *c,
						   const struct flow *flow, struct hop *hop)
{
	(void)ctx;
	(void)c;
	(void)hop;
	if (is_local(flow))
		return REASON_NO_ROUTE;
	if (flow->bytes > way.mtu)
		return REASON_MTU;
	return TO_SOCKET;
}

SEC("xdp")
int to_socket(struct xdp_md *ctx)
{
	struct counters *c = counters_of(0);
	u32 device = 0;
	int reason;

	if (!c)
		return XDP_ABORTED;
	c->received++;
	reason = UNLIKELY(ports.flags & FLAG_ALL_TO_KERNEL) ? REASON_SWITCHED_OFF :
							     route(ctx, c, port_place(ctx->ingress_ifindex), &device);
	if (UNLIKELY(reason != TO_SOCKET)) {
		if ((u32)reason < REASONS)
			c->passed[reason]++;
		return XDP_PASS;
	}
	c->forwarded++;
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
