/* SPDX-License-Identifier: GPL-2.0 */
/* Asks the kernel's tables. */
#ifndef LOCKGATE_LOOKUP_H
#define LOCKGATE_LOOKUP_H

#include "route.h"
#include "stale.h"

INLINE int reason_of(long answer)
{
	switch (answer) {
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		return REASON_NO_NEIGHBOUR;
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		return REASON_MTU;
	default:
		return REASON_NO_ROUTE;
	}
}

/*
 * Whether the kernel would take a frame from this source at this port. Its rule
 * for IPv6 looks at nothing but the kind of address; for IPv4 the source must not
 * be this host, and with strict filtering it must be reached by this port (RFC
 * 3704, section 2.2). A source without a route is left to the kernel.
 */
INLINE int check_source(struct xdp_md *ctx, const struct flow *flow, const struct port *in)
{
	struct bpf_fib_lookup back = {
		.family = AF_INET,
		.ifindex = in->ifindex,
		.tos = flow->tos,
		.ipv4_src = v4_destination(flow),
		.ipv4_dst = v4_source(flow),
	};
	long answer;

	if (flow->is_v6 || ports.flags & FLAG_ANY_SOURCE)
		return FORWARD;
	answer = bpf_fib_lookup(ctx, &back, sizeof(back), 0);
	if (answer != BPF_FIB_LKUP_RET_SUCCESS && answer != BPF_FIB_LKUP_RET_NO_NEIGH)
		return REASON_SOURCE;
	if (in->strict_source && back.ifindex != in->ifindex)
		return REASON_SOURCE;
	return FORWARD;
}

/*
 * Asks for the next hop, and whether the source may come from there. Not inlined:
 * a path that keeps answers hardly ever comes here, and should be short.
 */
static __attribute__((noinline)) int look_up(struct xdp_md *ctx, const struct flow *flow, struct hop *hop)
{
	const struct port *in = &ports.port[flow->place % PORTS_MAX];
	struct bpf_fib_lookup ask = {
		.family = flow->is_v6 ? AF_INET6 : AF_INET,
		.tot_len = flow->bytes,
		.ifindex = in->ifindex,
	};
	long answer;
	int reason = check_source(ctx, flow, in);

	if (reason != FORWARD)
		return reason;
	if (flow->is_v6) {
		/* The kernel's choice among several paths takes both in. */
		ask.l4_protocol = flow->protocol;
		ask.flowinfo = flow->flow_info;
		ask.ipv6_src[0] = flow->source_v6[0];
		ask.ipv6_src[1] = flow->source_v6[1];
		ask.ipv6_dst[0] = flow->key[0];
		ask.ipv6_dst[1] = flow->key[1];
	} else {
		ask.tos = flow->tos;
		ask.ipv4_src = v4_source(flow);
		ask.ipv4_dst = v4_destination(flow);
	}
	answer = bpf_fib_lookup(ctx, &ask, sizeof(ask), 0);
	if (answer != BPF_FIB_LKUP_RET_SUCCESS)
		return reason_of(answer);
	if (is_first_to_stale(&ask))
		return REASON_STALE;
	/* The kernel would tell the sender of a shorter way. */
	if (ask.ifindex == in->ifindex)
		return REASON_SAME_PORT;
	hop->place = port_place(ask.ifindex);
	if (hop->place >= PORTS_MAX)
		return REASON_NOT_A_PORT;
	hop->mtu = ask.mtu_result;
	if (flow->is_v6)
		hop->is_by_gateway = ask.ipv6_dst[0] != flow->key[0] ||
				     ask.ipv6_dst[1] != flow->key[1];
	else
		hop->is_by_gateway = ask.family != AF_INET || ask.ipv4_dst != v4_destination(flow);
	/* By halves: a load from the stack must have its alignment. */
	hop->address_low = AT(const u16, ask.dmac, 0) | (u32)AT(const u16, ask.dmac, 2) << 16;
	hop->address_high = AT(const u16, ask.dmac, 4);
	return FORWARD;
}

#endif
