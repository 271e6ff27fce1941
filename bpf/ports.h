/* SPDX-License-Identifier: GPL-2.0 */
/* The ports of a router, as user space describes them: `xdp::path::RouterPort`. */
#ifndef LOCKGATE_PORTS_H
#define LOCKGATE_PORTS_H

#include "headers.h"

enum {
	PORTS_MAX = 64,
	/* Numbers of interfaces are looked up by their low bits. */
	INTERFACES = 4096,
	NO_PORT = 0xff,
};

/* An interface that the kernel routes over, or a VLAN on one. */
struct port {
	/* Its number in the kernel's tables. */
	u32 ifindex;
	/* Of the interface that carries it: the same, unless it is a VLAN. */
	u32 carrier;
	/* The low 32 and high 16 bits of its Ethernet address, as in memory. */
	u32 address_low;
	u16 address_high;
	/* Its 802.1Q tag; 0: none. */
	be16 vlan;
	/* The carrier's place in `devices`. */
	u32 device;
	/* PORT_… */
	u32 flags;
};

enum {
	/* A frame must come from where its source would be sent to. */
	PORT_STRICT_SOURCE = 1,
	/* Frames of IPv6 that come in here are the kernel's. */
	PORT_NO_IPV6 = 2,
	/* Something else on this host decides about frames of IPv4, or of IPv6, that come in
	 * here: netfilter between the ports, */
	PORT_FIREWALL_V4 = 4,
	PORT_FIREWALL_V6 = 8,
	/* or what stands at the port itself, as they come in, or as they leave. */
	PORT_FILTER_IN = 16,
	PORT_FILTER_OUT = 32,
};

struct ports {
	struct port port[PORTS_MAX];
	/* By the low bits of its number; NO_PORT: none. */
	u8 place[INTERFACES];
	/* FLAG_… */
	u32 flags;
	u32 pad;
};

enum {
	/* Every frame to the kernel. */
	FLAG_ALL_TO_KERNEL = 1,
	/* Sources are not checked: not as the kernel does it. */
	FLAG_ANY_SOURCE = 2,
	/* The cache is not asked, e.g. since rules look at more than addresses. */
	FLAG_NO_CACHE = 4,
	/* IPsec policies say who may pass: every frame to the kernel. */
	FLAG_POLICIES = 8,
};

struct ports ports SEC(".data.ports");

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_DEVMAP);
	MAP_NUMBER(max_entries, PORTS_MAX);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} devices SEC(".maps");

struct vlan_key {
	u32 carrier;
	/* As it lies in the frame. */
	u32 vlan;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, PORTS_MAX);
	MAP_TYPE(key, struct vlan_key);
	MAP_TYPE(value, u32);
} vlans SEC(".maps");

/* The place of an interface that is a port, or NO_PORT. */
INLINE u32 port_place(u32 ifindex)
{
	u32 place = ports.place[ifindex % INTERFACES];

	if (place >= PORTS_MAX || ports.port[place].ifindex != ifindex)
		return NO_PORT;
	return place;
}

#endif
