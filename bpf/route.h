/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Forwards as the kernel would, or leaves the frame to it. What a frame looks
 * like when it leaves, and which frames leave at all, must not depend on whether
 * this or the kernel forwards: so every case that is not the plain one goes to
 * the kernel, unchanged (RFC 1812, section 5; RFC 8200).
 *
 * A file that includes this defines `find_hop`.
 */
#ifndef LOCKGATE_ROUTE_H
#define LOCKGATE_ROUTE_H

#include "checksum.h"
#include "counters.h"
#include "lease.h"
#include "ports.h"

enum { FORWARD = -1 };

/* What of a frame decides where it goes. */
struct flow {
	/* IPv4: both addresses in the first, source low. IPv6: the destination. */
	u64 key[2];
	be64 source_v6[2];
	be32 flow_info;
	u32 place;
	u16 bytes;
	u8 tos;
	u8 protocol;
	u8 is_v6;
};

/* Where it goes. */
struct hop {
	/* The next hop's Ethernet address: its low 32 and high 16 bits, as in memory. */
	u32 address_low;
	u16 address_high;
	u16 mtu;
	u32 place;
	/* The rest is of an answer of the tables only: not the destination itself, */
	u32 is_by_gateway;
	/* its place among the ages, */
	u32 neighbour;
	/* and whether it is for this packet alone. */
	u32 is_not_kept;
};

static int find_hop(struct xdp_md *ctx, struct counters *c, const struct flow *flow,
		    struct hop *hop);

INLINE be32 v4_source(const struct flow *flow)
{
	return flow->key[0];
}

INLINE be32 v4_destination(const struct flow *flow)
{
	return flow->key[0] >> 32;
}

/* This host's network 0, loopback, multicast and above do not travel. */
INLINE int travels_v4(be32 address)
{
	u8 first = address;

	return first && first < 224 && first != 127;
}

/* Nor do link-local, site-local, multicast, and what begins with 64 zero bits. */
INLINE int travels_v6(const be64 address[2])
{
	u16 first = ntohs((u16)address[0]);

	return address[0] && (first & 0xff80) != 0xfe80 && first < 0xff00;
}

/* The Internet checksum over an IPv4 header without options is right. */
INLINE int checksum_is_right(const struct ipv4 *ip)
{
	const u32 *word = (const u32 *)ip;
	u64 sum = (u64)word[0] + word[1] + word[2] + word[3] + word[4];

	return checksum_fold((u32)sum + (sum >> 32)) == 0xffff;
}

INLINE int read_v4(const struct ipv4 *ip, u64 bytes_left, struct flow *flow)
{
	u32 bytes = ntohs(ip->total_bytes);

	if (UNLIKELY(ip->version_length != 0x45))
		return (ip->version_length & 0xf0) == 0x40 ? REASON_OPTIONS : REASON_MALFORMED;
	if (UNLIKELY(bytes < sizeof(*ip) || bytes > bytes_left))
		return REASON_MALFORMED;
	if (UNLIKELY(!checksum_is_right(ip)))
		return REASON_CHECKSUM;
	if (UNLIKELY(!travels_v4(ip->source) || !travels_v4(ip->destination)))
		return REASON_MARTIAN;
	if (UNLIKELY(ip->ttl <= 1))
		return REASON_TTL;
	flow->key[0] = (u64)ip->destination << 32 | ip->source;
	flow->key[1] = 0;
	flow->bytes = bytes;
	flow->tos = ip->tos;
	flow->protocol = ip->protocol;
	flow->is_v6 = 0;
	return FORWARD;
}

INLINE int read_v6(const struct ipv6 *ip, u64 bytes_left, struct flow *flow)
{
	u32 bytes = ntohs(ip->payload_bytes) + sizeof(*ip);

	if (UNLIKELY((ip->version_class_flow & 0xf0) != 0x60))
		return REASON_MALFORMED;
	/* Hop-by-hop options come first, and a jumbogram has them. */
	if (UNLIKELY(ip->next_header == 0))
		return REASON_OPTIONS;
	if (UNLIKELY(bytes > bytes_left))
		return REASON_MALFORMED;
	if (UNLIKELY(!travels_v6(ip->source) || !travels_v6(ip->destination)))
		return REASON_MARTIAN;
	if (UNLIKELY(ip->hop_limit <= 1))
		return REASON_TTL;
	flow->key[0] = ip->destination[0];
	flow->key[1] = ip->destination[1];
	flow->source_v6[0] = ip->source[0];
	flow->source_v6[1] = ip->source[1];
	flow->flow_info = ip->version_class_flow & htonl(0x0fffffff);
	flow->bytes = bytes;
	flow->tos = 0;
	flow->protocol = ip->next_header;
	flow->is_v6 = 1;
	return FORWARD;
}

/* One less, as the kernel writes it (RFC 1141). */
INLINE void count_down_v4(struct ipv4 *ip)
{
	u32 sum = ip->checksum + htons(0x0100);

	ip->checksum = sum + (sum >= 0xffff);
	ip->ttl--;
}

_Static_assert((int)DEVICES_MAX == (int)PORTS_MAX, "a carrier a port at most");

/*
 * Which port it came in by, `untagged` if it has no tag; `type` and `offset` become those
 * of the network layer.
 */
INLINE u32 port_of(struct xdp_md *ctx, u32 untagged, const struct ethernet *ethernet, be16 *type,
		   u64 *offset)
{
	if (LIKELY(ethernet->type != htons(ETHERTYPE_VLAN)))
		return untagged;
	const struct vlan *tag = (const void *)ethernet + 14;

	if ((void *)(tag + 1) > DATA_END(ctx))
		return NO_PORT;
	/* Priority and eligibility do not survive the kernel's forwarding either. */
	struct vlan_key key = {
		.carrier = ctx->ingress_ifindex,
		.vlan = tag->control & htons(0x0fff),
	};
	u32 *place = bpf_map_lookup_elem(&vlans, &key);

	*type = tag->type;
	*offset = sizeof(*ethernet) + sizeof(*tag);
	/* A place may have become another port's, or nobody's. */
	if (!place || *place >= PORTS_MAX || ports.port[*place].carrier != key.carrier ||
	    ports.port[*place].vlan != key.vlan)
		return NO_PORT;
	return *place;
}

INLINE int is_for(const struct ethernet *ethernet, const struct port *port)
{
	return AT(const u32, ethernet, 0) == port->address_low &&
	       AT(const u16, ethernet, 4) == port->address_high;
}

/* Addresses, and the tag of the port by which it leaves. */
INLINE int write_link(struct xdp_md *ctx, const struct hop *hop, const struct port *port,
		      u64 offset, be16 type)
{
	s32 longer = (port->vlan ? 18 : 14) - (s32)offset;

	if (UNLIKELY(longer != 0) && bpf_xdp_adjust_head(ctx, -longer))
		return -1;
	struct ethernet *ethernet = DATA(ctx);

	if ((void *)(ethernet + 1) > DATA_END(ctx))
		return -1;
	AT(u32, ethernet, 0) = hop->address_low;
	AT(u16, ethernet, 4) = hop->address_high;
	AT(u32, ethernet, 6) = port->address_low;
	AT(u16, ethernet, 10) = port->address_high;
	if (LIKELY(!port->vlan)) {
		ethernet->type = type;
		return 0;
	}
	struct vlan *tag = (void *)(ethernet + 1);

	if ((void *)(tag + 1) > DATA_END(ctx))
		return -1;
	ethernet->type = htons(ETHERTYPE_VLAN);
	tag->control = port->vlan;
	tag->type = type;
	return 0;
}

/* Ethernet pads short frames; the kernel forwards without it. */
INLINE int trim(struct xdp_md *ctx, s64 excess)
{
	return excess > 0 ? bpf_xdp_adjust_tail(ctx, -excess) : 0;
}

/* The reason why frames of a family that come in by a port are the kernel's, by its flags. */
INLINE int reason_of_port(u32 flags)
{
	if (flags & PORT_FILTER_IN)
		return REASON_FILTER_IN;
	return flags & (PORT_FIREWALL_V4 | PORT_FIREWALL_V6) ? REASON_FIREWALL : REASON_SWITCHED_OFF;
}

enum {
	PORT_LEAVES_V4 = PORT_FILTER_IN | PORT_FIREWALL_V4,
	PORT_LEAVES_V6 = PORT_FILTER_IN | PORT_FIREWALL_V6 | PORT_NO_IPV6,
};

/* The reason why the frame goes to the kernel, or FORWARD with the port. */
INLINE int route(struct xdp_md *ctx, struct counters *c, u32 untagged, u32 *device)
{
	struct ethernet *ethernet = DATA(ctx);
	u64 offset = sizeof(*ethernet);

	if ((void *)(ethernet + 1) > DATA_END(ctx))
		return REASON_MALFORMED;
	be16 type = ethernet->type;
	struct flow flow;
	struct hop hop;
	int reason;

	flow.place = port_of(ctx, untagged, ethernet, &type, &offset);
	if (UNLIKELY(type != htons(ETHERTYPE_IPV4) && type != htons(ETHERTYPE_IPV6)))
		return type == htons(ETHERTYPE_VLAN) ? REASON_VLAN : REASON_NOT_IP;
	if (UNLIKELY(flow.place >= PORTS_MAX))
		return offset == sizeof(*ethernet) ? REASON_NOT_A_PORT : REASON_VLAN;
	if (UNLIKELY(!is_for(ethernet, &ports.port[flow.place])))
		return REASON_OTHER_HOST;
	u32 flags = ports.port[flow.place].flags;
	void *network = (void *)ethernet + offset;

	if (type == htons(ETHERTYPE_IPV4)) {
		if (UNLIKELY(flags & PORT_LEAVES_V4))
			return reason_of_port(flags & PORT_LEAVES_V4);
		if (network + sizeof(struct ipv4) > DATA_END(ctx))
			return REASON_MALFORMED;
		reason = read_v4(network, DATA_END(ctx) - network, &flow);
	} else {
		if (UNLIKELY(flags & PORT_LEAVES_V6))
			return reason_of_port(flags & PORT_LEAVES_V6);
		if (network + sizeof(struct ipv6) > DATA_END(ctx))
			return REASON_MALFORMED;
		reason = read_v6(network, DATA_END(ctx) - network, &flow);
	}
	if (UNLIKELY(reason != FORWARD))
		return reason;
	reason = find_hop(ctx, c, &flow, &hop);
	if (UNLIKELY(reason != FORWARD))
		return reason;
	if (UNLIKELY(flow.bytes > hop.mtu))
		return REASON_MTU;
	if (UNLIKELY(hop.place >= PORTS_MAX))
		return REASON_NOT_A_PORT;
	const struct port *out = &ports.port[hop.place];

	/* Of a carrier that was made anew. */
	if (UNLIKELY(out->device >= PORTS_MAX))
		return REASON_NOT_A_PORT;
	if (UNLIKELY(out->flags & PORT_FILTER_OUT))
		return REASON_FILTER_OUT;
	/* From here on the frame is changed: what fails now is dropped. */
	if (flow.is_v6)
		((struct ipv6 *)network)->hop_limit--;
	else
		count_down_v4(network);
	s64 excess = (s64)(DATA_END(ctx) - network) - flow.bytes;

	if (UNLIKELY(trim(ctx, excess)) || UNLIKELY(write_link(ctx, &hop, out, offset, type)))
		*device = PORTS_MAX;
	else
		*device = out->device;
	return FORWARD;
}

/* The reason why every frame goes to the kernel now, or FORWARD. */
INLINE int reason_for_all(u64 now_ticks)
{
	if (UNLIKELY(!is_watched(now_ticks)))
		return REASON_UNWATCHED;
	if (LIKELY(!(ports.flags & (FLAG_ALL_TO_KERNEL | FLAG_POLICIES))))
		return FORWARD;
	return ports.flags & FLAG_POLICIES ? REASON_POLICIES : REASON_SWITCHED_OFF;
}

/* Forwards one frame; the program's verdict. */
INLINE int forward(struct xdp_md *ctx)
{
	u32 place = port_place(ctx->ingress_ifindex);
	struct counters *c =
		counters_of(place < PORTS_MAX ? ports.port[place].device : DEVICES_MAX);
	u32 device = PORTS_MAX;
	u64 now_ticks = bpf_jiffies64();
	int reason;

	if (!c)
		return XDP_ABORTED;
	c->received++;
	reason = reason_for_all(now_ticks);
	if (LIKELY(reason == FORWARD))
		reason = route(ctx, c, place, &device);
	if (UNLIKELY(reason != FORWARD)) {
		if ((u32)reason < REASONS)
			c->passed[reason]++;
		return XDP_PASS;
	}
	if (UNLIKELY(device >= PORTS_MAX)) {
		c->dropped++;
		return XDP_DROP;
	}
	c->forwarded++;
	c->last_ticks = now_ticks;
	return bpf_redirect_map(&devices, device, XDP_ABORTED);
}

#endif
