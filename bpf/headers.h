/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Headers as they lie in a frame. None is packed: that would make the compiler
 * put every field together from its bytes. The programs run where a load may
 * have any alignment.
 */
#ifndef LOCKGATE_HEADERS_H
#define LOCKGATE_HEADERS_H

#include "kernel.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,
};

struct ethernet {
	u8 destination[6];
	u8 source[6];
	be16 type;
};

/* After the addresses of a tagged frame. */
struct vlan {
	be16 control;
	be16 type;
};

struct ipv4 {
	u8 version_length;
	u8 tos;
	be16 total_bytes;
	be16 identification;
	be16 fragment;
	u8 ttl;
	u8 protocol;
	be16 checksum;
	be32 source;
	be32 destination;
};

struct ipv6 {
	be32 version_class_flow;
	be16 payload_bytes;
	u8 next_header;
	u8 hop_limit;
	be64 source[2];
	be64 destination[2];
};

_Static_assert(sizeof(struct ethernet) == 14 && sizeof(struct vlan) == 4 &&
		       sizeof(struct ipv4) == 20 && sizeof(struct ipv6) == 40,
	       "as on the wire");

#endif
