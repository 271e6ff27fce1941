/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers of the kernel's tables, kept: one for all flows whose addresses differ
 * in bits only that decide nothing. An entry is valid in one generation: user
 * space begins a new one after any change of routes, rules, neighbours, links or
 * addresses, and only then renews the program's lease.
 *
 * CPUs share the table without a lock. What is stored of a key is mixed with the
 * rest of its entry, so that one that two CPUs wrote at once matches nobody's key.
 */
#ifndef LOCKGATE_CACHE_H
#define LOCKGATE_CACHE_H

#include "alike.h"
#include "lookup.h"

enum {
	CACHE_SHIFT = 18,
	CACHE_ENTRIES = 1 << CACHE_SHIFT,
	/* So many neighbouring addresses lie side by side. */
	GROUP_SHIFT = 7,
};

/* As in `struct flow`, without the bits that decide nothing. */
struct name {
	u64 key[2];
};

struct entry {
	struct name name;
	/* Generation 32, port in 8, type of service 8, port out 8, family 8. */
	u64 meta;
	/* Ethernet address 48, MTU 16. */
	u64 hop;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, CACHE_ENTRIES);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct entry);
} cache SEC(".maps");

/* Written by user space. */
struct generation {
	u32 now;
};

struct generation generation SEC(".data.generation");

#define MIX_META 0x9e3779b97f4a7c15ULL
#define MIX_HOP 0xc2b2ae3d27d4eb4fULL

INLINE u64 mixed(u64 meta, u64 hop)
{
	return meta * MIX_META ^ hop * MIX_HOP;
}

INLINE struct name name_of(const struct flow *flow)
{
	struct name name;

	if (flow->is_v6) {
		name.key[0] = flow->key[0];
		name.key[1] = deciding_v6(flow->key[0], flow->key[1]);
	} else {
		name.key[0] = (u64)deciding_v4(v4_destination(flow)) << 32 |
			      deciding_v4(v4_source(flow));
		name.key[1] = 0;
	}
	return name;
}

INLINE int is_same(const struct name *one, const struct name *other)
{
	return one->key[0] == other->key[0] && one->key[1] == other->key[1];
}

/*
 * Groups of neighbouring destinations are spread evenly (Knuth, The Art of Computer
 * Programming 3, section 6.4, multiplicative hashing); within a group they lie in
 * their order, so that a sweep over a network reads memory as it lies. Whoever finds
 * its place taken has the other one of the same cache line.
 */
INLINE u32 index_of(const struct name *name, int is_v6)
{
	u64 address = is_v6 ? ntohll(name->key[1]) : ntohl(name->key[0] >> 32);
	u64 rest = is_v6 ? name->key[0] : (u32)name->key[0] * 0x85ebca6bULL;
	u64 group = (address >> GROUP_SHIFT) + (rest ^ rest >> 32);
	u32 base = (u32)(group ^ group >> 32) * 0x9e3779b1U >> (32 - CACHE_SHIFT);

	return (base + (address & ((1 << GROUP_SHIFT) - 1))) % CACHE_ENTRIES;
}

/* What an entry of this flow says of it, the port out aside. */
INLINE u64 meta_of(const struct flow *flow, u32 now)
{
	return now | (u64)flow->place << 32 | (u64)flow->tos << 40 | (u64)flow->is_v6 << 56;
}

#define META_PLACE_OUT (0xffULL << 48)

INLINE int is_cached(const struct entry *entry, const struct name *name, u64 meta,
		     struct hop *hop)
{
	u64 found = entry->meta;
	u64 address = entry->hop;
	u64 mix = mixed(found, address);

	if ((found & ~META_PLACE_OUT) != meta || (entry->name.key[0] ^ mix) != name->key[0] ||
	    (entry->name.key[1] ^ mix) != name->key[1])
		return 0;
	hop->place = found >> 48 & 0xff;
	hop->mtu = address >> 48;
	hop->address_low = address;
	hop->address_high = address >> 32;
	return 1;
}

INLINE void keep(struct entry *entry, const struct name *name, u64 meta, const struct hop *hop)
{
	u64 address = (u64)hop->mtu << 48 | (u64)hop->address_high << 32 | hop->address_low;
	u64 mix;

	meta |= (u64)hop->place << 48;
	mix = mixed(meta, address);
	entry->name.key[0] = name->key[0] ^ mix;
	entry->name.key[1] = name->key[1] ^ mix;
	entry->meta = meta;
	entry->hop = address;
}

/*
 * Whether the answer is that of all flows of this name: there is but one, or they go by
 * a gateway, whose neighbour they share; and no more bits decide by now than when the
 * name was made.
 */
INLINE int is_for_all(const struct flow *flow, const struct name *name, const struct hop *hop)
{
	struct name now = name_of(flow);

	/* A flow has the addresses in the same places. */
	return is_same(&now, name) &&
	       (hop->is_by_gateway || is_same(name, (const struct name *)flow->key));
}

static __attribute__((always_inline)) int find_hop(struct xdp_md *ctx, struct counters *c,
						   const struct flow *flow, struct hop *hop)
{
	/* Before the tables are asked: a change meanwhile makes the answer old. */
	u32 now = *(volatile u32 *)&generation.now;
	struct name name = name_of(flow);
	u32 index = index_of(&name, flow->is_v6);
	u32 beside = index ^ 1;
	struct entry *entry = bpf_map_lookup_elem(&cache, &index);
	struct entry *other = bpf_map_lookup_elem(&cache, &beside);
	u64 meta = meta_of(flow, now);
	u64 misses;
	int reason;

	if (UNLIKELY(!entry || !other || ports.flags & FLAG_NO_CACHE))
		return look_up(ctx, flow, hop);
	if (LIKELY(is_cached(entry, &name, meta, hop)) || is_cached(other, &name, meta, hop)) {
		c->hits++;
		return FORWARD;
	}
	/*
	 * A barrier: which bits decide is looked at again below, since it may have been
	 * read before the generation was.
	 */
	misses = __sync_fetch_and_add(&c->misses, 1);
	OPAQUE(misses);
	reason = look_up(ctx, flow, hop);
	if (reason == FORWARD && is_for_all(flow, &name, hop))
		keep((u32)entry->meta == now ? other : entry, &name, meta, hop);
	return reason;
}

#endif
