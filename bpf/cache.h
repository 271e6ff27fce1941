/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Answers of the kernel's tables, kept: where packets to a destination go, and
 * whether a source may send by a port; one for all addresses that differ in bits
 * only that decide nothing. Apart, as many sources send to many destinations. Each
 * holds as long as no change made it old (`ages.h`): user space tells of all
 * changes, and only then renews the program's lease.
 *
 * CPUs share the tables without a lock. What is stored of a key is mixed with the
 * rest of its entry, so that one that two CPUs wrote at once matches nobody's key.
 */
#ifndef LOCKGATE_CACHE_H
#define LOCKGATE_CACHE_H

#include "ages.h"
#include "alike.h"
#include "lookup.h"

enum {
	CACHE_SHIFT = 18,
	CACHE_ENTRIES = 1 << CACHE_SHIFT,
	SOURCES_SHIFT = 16,
	SOURCES = 1 << SOURCES_SHIFT,
	/* So many neighbouring addresses lie side by side. */
	GROUP_SHIFT = 7,
};

/* A destination without the bits that decide nothing. IPv4: in the first word. */
struct name {
	be64 address[2];
};

struct entry {
	struct name name;
	/* META_… */
	u64 meta;
	/* Ethernet address 48, MTU 16. */
	u64 hop;
};

/* Age 41 (at 1,000 changes a second for 70 years), the neighbour's cell 10, port out
 * 6, port in 6, family 1. */
enum {
	META_NEIGHBOUR = 41,
	META_OUT = META_NEIGHBOUR + NEIGHBOUR_CELLS_SHIFT,
	META_IN = META_OUT + 6,
	META_FAMILY = META_IN + 6,
};
_Static_assert(META_FAMILY == 63 && PORTS_MAX == 1 << 6, "all of it fits");

#define META_AGE ((1ULL << META_NEIGHBOUR) - 1)
/* What of it belongs to the key. */
#define META_KEY (~0ULL << META_IN)

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, CACHE_ENTRIES);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct entry);
} cache SEC(".maps");

/* An IPv4 source that may send by a port. */
struct source {
	/* The address 32, the port 6, and a bit that is set. */
	u64 who;
	/* Its age, mixed with the rest. */
	u64 proof;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, SOURCES);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct source);
} sources SEC(".maps");

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
		name.address[0] = flow->key[0];
		name.address[1] = deciding_v6(flow->key[0], flow->key[1]);
	} else {
		name.address[0] = deciding_v4(v4_destination(flow));
		name.address[1] = 0;
	}
	return name;
}

/* As a name; not all of it may decide. */
INLINE struct name destination_of(const struct flow *flow)
{
	struct name name = {
		.address = { flow->is_v6 ? flow->key[0] : v4_destination(flow), flow->key[1] },
	};

	return name;
}

INLINE int is_same(const struct name *one, const struct name *other)
{
	return one->address[0] == other->address[0] && one->address[1] == other->address[1];
}

INLINE u64 age_of(const struct flow *flow)
{
	return flow->is_v6 ? age_v6(flow->key[0]) : age_v4(v4_destination(flow));
}

/*
 * Groups of neighbouring destinations are spread evenly (Knuth, The Art of Computer
 * Programming 3, section 6.4, multiplicative hashing); within a group they lie in
 * their order, so that a sweep over a network reads memory as it lies. Whoever finds
 * its place taken has the other one of the same cache line.
 */
INLINE u32 index_of(const struct name *name, int is_v6)
{
	u64 address = is_v6 ? ntohll(name->address[1]) : ntohl(name->address[0]);
	u64 rest = is_v6 ? name->address[0] : 0;
	u64 group = (address >> GROUP_SHIFT) + (rest ^ rest >> 32);
	u32 base = (u32)(group ^ group >> 32) * 0x9e3779b1U >> (32 - CACHE_SHIFT);

	return (base + (address & ((1 << GROUP_SHIFT) - 1))) % CACHE_ENTRIES;
}

INLINE u64 meta_of(const struct flow *flow)
{
	return (u64)flow->place << META_IN | (u64)flow->is_v6 << META_FAMILY;
}

/* `meta` is the key's part, `age` the destination's. */
INLINE int is_kept(const struct entry *entry, const struct name *name, u64 meta, u64 age,
		   struct hop *hop)
{
	u64 found = entry->meta;
	u64 address = entry->hop;
	u64 mix = mixed(found, address);

	if ((found & META_KEY) != meta || (entry->name.address[0] ^ mix) != name->address[0] ||
	    (entry->name.address[1] ^ mix) != name->address[1])
		return 0;
	age += age_of_neighbour(found >> META_NEIGHBOUR);
	if ((found ^ age) & META_AGE)
		return 0;
	hop->place = found >> META_OUT & (PORTS_MAX - 1);
	hop->neighbour = found >> META_NEIGHBOUR & (NEIGHBOUR_CELLS - 1);
	hop->mtu = address >> 48;
	hop->address_low = address;
	hop->address_high = address >> 32;
	return 1;
}

INLINE void keep(struct entry *entry, const struct name *name, u64 meta, const struct hop *hop)
{
	u64 address = (u64)hop->mtu << 48 | (u64)hop->address_high << 32 | hop->address_low;
	u64 mix = mixed(meta, address);

	entry->name.address[0] = name->address[0] ^ mix;
	entry->name.address[1] = name->address[1] ^ mix;
	entry->meta = meta;
	entry->hop = address;
}

/* What it is of is found in it, as it is mixed with what lies beside. */
INLINE int is_old(const struct entry *entry)
{
	u64 meta = entry->meta;
	be64 first = entry->name.address[0] ^ mixed(meta, entry->hop);
	u64 age = meta >> META_FAMILY ? age_v6(first) : age_v4(first);

	return ((meta ^ (age + age_of_neighbour(meta >> META_NEIGHBOUR))) & META_AGE) != 0;
}

/*
 * Whether the answer is that of all flows of this name: there is but one, or they go by
 * a gateway, whose neighbour they share; and no more bits decide by now than when the
 * name was made.
 */
INLINE int is_for_all(const struct flow *flow, const struct name *name, const struct hop *hop)
{
	struct name now = name_of(flow);
	struct name exact = destination_of(flow);

	return !hop->is_not_kept && is_same(&now, name) &&
	       (hop->is_by_gateway || is_same(name, &exact));
}

INLINE u64 source_name(const struct flow *flow)
{
	return deciding_v4(v4_source(flow)) | (u64)flow->place << 32 | 1ULL << 63;
}

INLINE struct source *source_entry(u64 who)
{
	/* Neighbouring addresses lie side by side here, too. */
	u64 address = ntohl((u32)who);
	u64 group = (address >> GROUP_SHIFT) + (who >> 32);
	u32 base = (u32)(group ^ group >> 32) * 0x9e3779b1U >> (32 - SOURCES_SHIFT);
	u32 index = (base + (address & ((1 << GROUP_SHIFT) - 1))) % SOURCES;

	return bpf_map_lookup_elem(&sources, &index);
}

INLINE int is_source_known(const struct source *entry, u64 who, const struct flow *flow)
{
	return entry->who == who && (entry->proof ^ who * MIX_META) == age_v4(v4_source(flow));
}

/* As `is_for_all`. By which neighbour a source is reached does not matter. */
INLINE int is_for_all_sources(const struct flow *flow, u64 who)
{
	const struct special *special = special_of(AF_INET, v4_source(flow), 0);

	return source_name(flow) == who && !(special && special->is_not_kept);
}

/* Loads are not reordered across an addition that is atomic. */
INLINE void barrier(u64 *counter, u64 more)
{
	u64 before = __sync_fetch_and_add(counter, more);

	OPAQUE(before);
}

static __attribute__((always_inline)) int find_hop(struct xdp_md *ctx, struct counters *c,
						   const struct flow *flow, struct hop *hop)
{
	/* Before anything else is looked at: a change from now on is seen by it. */
	u64 changes = changes_now();
	struct name name = name_of(flow);
	u64 who = source_name(flow);
	u32 index = index_of(&name, flow->is_v6);
	u32 beside = index ^ 1;
	struct entry *entry = bpf_map_lookup_elem(&cache, &index);
	struct entry *other = bpf_map_lookup_elem(&cache, &beside);
	struct source *source = source_entry(who);
	u64 meta = meta_of(flow);
	u64 age = age_of(flow);
	int is_source_due = is_source_checked(flow);
	int is_known, is_hop_kept, is_source_kept;
	int reason;

	if (UNLIKELY(!entry || !other || !source || ports.flags & FLAG_NO_CACHE))
		return look_up(ctx, flow, hop);
	is_known = LIKELY(is_kept(entry, &name, meta, age, hop)) ||
		   is_kept(other, &name, meta, age, hop);
	if (LIKELY(is_known) && (!is_source_due || LIKELY(is_source_known(source, who, flow)))) {
		c->hits++;
		return FORWARD;
	}
	/* The tables are asked after the changes were read. */
	barrier(&c->misses, 1);
	if (is_known)
		reason = check_source(ctx, flow, ports.port[hop->place % PORTS_MAX].ifindex);
	else
		reason = look_up(ctx, flow, hop);
	if (reason != FORWARD)
		return reason;
	is_hop_kept = !is_known && is_for_all(flow, &name, hop);
	is_source_kept = is_source_due && is_for_all_sources(flow, who);
	age = age_of(flow) + age_of_neighbour(hop->neighbour);
	u64 age_of_source = age_v4(v4_source(flow));

	/* Ages are read before the changes: one that was counted since may not be in the
	 * answer, but may be in its age. */
	barrier(&c->misses, 0);
	if (UNLIKELY(changes_now() != changes))
		return FORWARD;
	if (is_hop_kept) {
		meta |= (u64)(hop->place % PORTS_MAX) << META_OUT |
			(u64)(hop->neighbour % NEIGHBOUR_CELLS) << META_NEIGHBOUR | (age & META_AGE);
		keep(is_old(entry) ? entry : other, &name, meta, hop);
	}
	if (is_source_kept) {
		source->who = who;
		source->proof = age_of_source ^ who * MIX_META;
	}
	return FORWARD;
}

#endif
