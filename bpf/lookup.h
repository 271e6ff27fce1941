/* SPDX-License-Identifier: GPL-2.0 */
/* Asks the kernel's tables. */
#ifndef LOCKGATE_LOOKUP_H
#define LOCKGATE_LOOKUP_H

#include "route.h"
#include "special.h"
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
 * 3704, section 2.2). A source without a route is left to the kernel. The kernel
 * looks the way back up as if a packet came in where this one goes out
 * (`fib_validate_source`), which rules may ask for.
 */
static __attribute__((noinline)) int check_source(struct xdp_md *ctx, const struct flow *flow, u32 out)
{
	const struct port *in = &ports.port[flow->place % PORTS_MAX];
	struct bpf_fib_lookup back = {
		.family = AF_INET,
		.ifindex = out,
		.tos = flow->tos,
		.ipv4_src = v4_destination(flow),
		.ipv4_dst = v4_source(flow),
	};
	long answer = bpf_fib_lookup(ctx, &back, sizeof(back), 0);

	if (answer != BPF_FIB_LKUP_RET_SUCCESS && answer != BPF_FIB_LKUP_RET_NO_NEIGH)
		return REASON_SOURCE;
	if (in->flags & PORT_STRICT_SOURCE && back.ifindex != in->ifindex)
		return REASON_SOURCE;
	return FORWARD;
}

INLINE int is_source_checked(const struct flow *flow)
{
	return !flow->is_v6 && !(ports.flags & FLAG_ANY_SOURCE);
}

/* What the tables alone do not tell of a destination. */
INLINE int apply_special(const struct flow *flow, struct hop *hop)
{
	const struct special *special =
		flow->is_v6 ? special_of(AF_INET6, flow->key[0], flow->key[1]) :
			      special_of(AF_INET, v4_destination(flow), 0);

	if (LIKELY(!special))
		return FORWARD;
	if (!special->bytes_max)
		return REASON_SPECIAL;
	if (special->bytes_max < hop->mtu)
		hop->mtu = special->bytes_max;
	hop->is_not_kept = special->is_not_kept;
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
	struct neighbour neighbour;
	long answer;
	int reason;

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
	if (is_source_checked(flow)) {
		reason = check_source(ctx, flow, ask.ifindex);
		if (reason != FORWARD)
			return reason;
	}
	/* Of a frame that the kernel drops, it would not hear. */
	neighbour = neighbour_of(&ask);
	if (is_first_to_stale(&neighbour))
		return REASON_STALE;
	/* The kernel would tell the sender of a shorter way. */
	if (ask.ifindex == in->ifindex)
		return REASON_SAME_PORT;
	hop->place = port_place(ask.ifindex);
	if (hop->place >= PORTS_MAX)
		return REASON_NOT_A_PORT;
	hop->mtu = ask.mtu_result;
	hop->is_by_gateway = flow->is_v6 ? neighbour.address[0] != flow->key[0] ||
						   neighbour.address[1] != flow->key[1] :
					   neighbour.family != AF_INET ||
						   neighbour.address[0] != v4_destination(flow);
	hop->neighbour = neighbour_cell(&neighbour);
	hop->is_not_kept = 0;
	/* By halves: a load from the stack must have its alignment. */
	hop->address_low = AT(const u16, ask.dmac, 0) | (u32)AT(const u16, ask.dmac, 2) << 16;
	hop->address_high = AT(const u16, ask.dmac, 4);
	return apply_special(flow, hop);
}

#endif
