/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts test frames and drops them; others go to the kernel, which answers ARP
 * and neighbour solicitations. Every frame counts once: received, duplicate,
 * late or foreign.
 *
 * A window of the last million sequences tells a second copy from a first. A
 * frame from before the window counts as received and reordered: nothing tells
 * whether it was seen.
 */
#include "reached.h"
#include "stamp.h"

enum {
	/* Words of the window: each holds 32 sequences, and says which. */
	WINDOW_WORDS = 1 << 15,
	WINDOW_SHIFT = 5,
	/* Buckets of latency: 2^7 to each power of two, up to 2^38 ns (275 s). */
	BUCKET_SHIFT = 7,
	BUCKET_POWERS = 32,
	BUCKETS = BUCKET_POWERS << BUCKET_SHIFT,
};

/* Whom to count: written by user space. */
struct watch {
	/* As a stamp's first four bytes; 0: nobody. */
	u32 tag;
	/* The clock is read for frames whose sequence has none of these bits. */
	u32 clock_mask;
};

struct watch watch SEC(".data.watch");

/* Of one CPU. */
struct counts {
	u64 received;
	u64 duplicates;
	u64 reordered;
	u64 late;
	u64 foreign;
	u64 bytes;
	u64 first_ns;
	u64 last_ns;
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct counts);
} counts SEC(".maps");

/*
 * Shared by all CPUs. `next` is one more than the highest sequence seen; two
 * CPUs that race for it may miss that a frame was reordered, nothing else.
 * A word of the window: in the high half which 32 sequences, in the low half
 * those that were seen.
 */
struct seen {
	u64 next;
	u64 window[WINDOW_WORDS];
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct seen);
} seen SEC(".maps");

struct reached reached SEC(".maps");

struct latency {
	u64 frames[BUCKETS];
};

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct latency);
} latency SEC(".maps");

/* Logarithmic, with 2^BUCKET_SHIFT linear steps to each power of two. */
INLINE u32 bucket_of(u64 ns)
{
	u32 power = 0;
	u64 rest = ns >> BUCKET_SHIFT;

	for (int step = 16; step; step >>= 1) {
		if (rest >> step) {
			power += step;
			rest >>= step;
		}
	}
	/* Below 2^(BUCKET_SHIFT + 1) each ns has its own. */
	u64 bucket = rest ? ((u64)(power + 1) << BUCKET_SHIFT) +
				    ((ns >> power) & ((1 << BUCKET_SHIFT) - 1)) :
			    ns;

	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

INLINE void look_at_clock(struct counts *c, be64 due_ns)
{
	u32 first = 0;
	struct latency *l = bpf_map_lookup_elem(&latency, &first);
	u64 now = bpf_ktime_get_ns();
	u64 due = ntohll(due_ns);
	u64 bucket = bucket_of(now > due ? now - due : 0);

	if (!c->first_ns)
		c->first_ns = now;
	c->last_ns = now;
	OPAQUE(bucket);
	if (l && bucket < BUCKETS)
		__sync_fetch_and_add(&l->frames[bucket], 1);
}

/* Whether a word of the window had the bit; sets it. */
INLINE int seen_before(struct seen *s, u64 sequence)
{
	u64 *word = &s->window[(sequence >> WINDOW_SHIFT) % WINDOW_WORDS];
	u64 which = (sequence >> WINDOW_SHIFT) / WINDOW_WORDS + 1;
	u64 bit = 1ULL << (sequence % (1 << WINDOW_SHIFT));
	u64 old = *word;

	if (old >> 32 < which) {
		/* The first of its 32: takes the word over, unless another CPU just did. */
		if (__sync_val_compare_and_swap(word, old, which << 32 | bit) == old)
			return 0;
		old = *word;
	}
	if (old >> 32 != which)
		return 0;
	return (__sync_fetch_and_or(word, bit) & bit) != 0;
}

INLINE void tell_reached(u64 next)
{
	u32 first = 0;
	u64 *r = bpf_map_lookup_elem(&reached, &first);

	if (r)
		*(volatile u64 *)r = next;
}

INLINE void count(struct counts *c, struct stamp *stamp, u64 frame_bytes)
{
	u32 first = 0;
	struct seen *s = bpf_map_lookup_elem(&seen, &first);
	u64 sequence = stamp_sequence(stamp);

	if (!s)
		return;
	if (seen_before(s, sequence)) {
		c->duplicates++;
		return;
	}
	c->received++;
	c->bytes += frame_bytes + FCS_BYTES;
	if (sequence < s->next)
		c->reordered++;
	else
		s->next = sequence + 1;
	if (sequence % REACHED_STEP == 0)
		tell_reached(s->next);
	if (!(sequence & watch.clock_mask))
		look_at_clock(c, STAMP_DUE_NS(stamp));
}

enum { TAG_MAGIC = 0xffff, TAG_TRIAL = 0xff0000 };

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	u32 first = 0;
	struct counts *c = bpf_map_lookup_elem(&counts, &first);
	struct stamp *stamp = stamp_of(ctx);

	if (!c)
		return XDP_ABORTED;
	if (!stamp) {
		c->foreign++;
		return XDP_PASS;
	}
	if (LIKELY(STAMP_TAG(stamp) == watch.tag)) {
		count(c, stamp, DATA_END(ctx) - DATA(ctx));
		return XDP_DROP;
	}
	if ((STAMP_TAG(stamp) & TAG_MAGIC) != (stamp_tag(0, 0) & TAG_MAGIC)) {
		c->foreign++;
		return XDP_PASS;
	}
	if ((STAMP_TAG(stamp) ^ watch.tag) & TAG_TRIAL || !watch.tag)
		c->late++;
	else
		c->foreign++;
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
