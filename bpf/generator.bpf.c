/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sends test frames: run by BPF_PROG_TEST_RUN with live frames, once a frame.
 *
 * The kernel hands the same pages round. A page comes back with what the device
 * under test wrote into it, so the whole head and the stamp are written into
 * every frame. A frame that is not due yet is dropped at once, which costs a
 * look at the clock: the program paces itself, since leaving the kernel and
 * coming back takes 20 ms and more.
 */
#include "checksum.h"
#include "reached.h"
#include "stamp.h"

enum {
	/* Ethernet 14, 802.1Q 4, IPv6 40, UDP 8: rounded up to whole 8 bytes. */
	HEAD_BYTES_MAX = 72,
	/* Of these IPv4 needs 46; the rest is payload. */
	HEAD_BYTES_V4 = 48,
	SIZES_MAX = 4,
	ORDER_MAX = 16,
	/* Binary digits after the point of a time in ns. */
	TIME_SHIFT = 20,
	/*
	 * A page begins with 112 bytes of the kernel's and 256 of headroom. So many
	 * more, and a frame begins where a cache line does, as behind a network
	 * card: a short one is one line to fetch for who gets it, not two.
	 */
	LEAD_BYTES = 16,
	/* Frames between two looks at the clock, at most. */
	CLOCK_FRAMES = 32,
	/* How long what was due in time may still leave after the end. */
	GRACE_NS = 10 * 1000 * 1000,
	/* Looks at how far the sink is before the program returns, which costs more. */
	LOOKS = 64,
	/* After so long without news what is under way is taken for lost. */
	LOST_NS = 2 * 1000 * 1000,
};

/* `FACTOR` of `wire::Spread`. */
#define TURN_FACTOR 0x9e3779b1U

/* A frame of one size. Sums are over all but what the program writes. */
struct size {
	u64 head[HEAD_BYTES_MAX / 8];
	u32 frame_bytes;
	u16 ip_sum;
	u16 udp_sum;
};

/* What to send: written by user space before a run. */
struct plan {
	struct size sizes[SIZES_MAX];
	/* Which size is whose turn; the sizes rise with their index. */
	u8 order[ORDER_MAX];
	u32 order_count;
	u32 size_count;
	/* The low part of the first destination, in host order. */
	u64 destination;
	u32 destination_mask;
	u32 stride;
	/* IPv4: the first source, in host order, and the last of those after it. */
	u32 source;
	u32 source_mask;
	u32 ip_offset;
	u16 source_port;
	u8 is_v6;
	u8 has_udp_sum;
	u32 tag;
	u32 turn_shift;
	/* Between two frames, ns << TIME_SHIFT; 0: as fast as it goes. */
	u64 interval;
	u64 duration_ns;
	u64 frames_max;
	/* Under way at most; 0: no limit. */
	u32 in_flight_max;
	/* Frames in which each destination comes once, as a power of two. */
	u32 round_shift;
};

struct plan plan SEC(".data.plan");

/* How far it got: read by user space while it runs. */
struct progress {
	u64 offered;
	u64 start_ns;
	u64 now_ns;
	/* When the next frame is due, from the start, ns << TIME_SHIFT. */
	u64 due;
	u64 last_ns;
	u64 behind_ns_max;
	u64 gap_ns_max;
	u32 position;
	u32 done;
	/* What the sink has counted or was given up: all before this sequence. */
	u64 settled;
	/* Since when nothing more has settled while room was waited for; 0: no wait. */
	u64 waits_since_ns;
	/* Taken for lost. */
	u64 given_up;
};

struct progress progress SEC(".data.progress");

struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_DEVMAP);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} port SEC(".maps");

/* Of the sink that counts these frames: its `reached`. User space puts it in. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
	MAP_INNER(values, struct reached);
} sinks SEC(".maps");

INLINE void look_at_clock(struct progress *p)
{
	u64 now = bpf_ktime_get_ns();

	if (!p->start_ns)
		p->start_ns = now;
	else if (now - p->now_ns > p->gap_ns_max)
		p->gap_ns_max = now - p->now_ns;
	p->now_ns = now;
}

/* When the next frame is due, ns of the clock; 0: not now. */
INLINE u64 next_due(struct progress *p)
{
	if (!p->start_ns || p->offered % CLOCK_FRAMES == 0)
		look_at_clock(p);
	if (!plan.interval) {
		p->done = p->now_ns - p->start_ns >= plan.duration_ns;
		return p->done ? 0 : p->now_ns;
	}
	u64 due = p->start_ns + (p->due >> TIME_SHIFT);

	if (due - p->start_ns >= plan.duration_ns ||
	    p->now_ns - p->start_ns >= plan.duration_ns + GRACE_NS) {
		p->done = 1;
		return 0;
	}
	if (due > p->now_ns) {
		look_at_clock(p);
		if (due > p->now_ns)
			return 0;
	}
	if (p->now_ns - due > p->behind_ns_max)
		p->behind_ns_max = p->now_ns - due;
	return due;
}

/* Notes what the sink has counted; what it will not count is given up. */
INLINE void look_at_sink(struct progress *p, u64 *reached)
{
	u64 next = *(volatile u64 *)reached;

	if (next > p->settled && next <= p->offered) {
		p->settled = next;
		p->waits_since_ns = p->now_ns;
	} else if (p->now_ns - p->waits_since_ns > LOST_NS) {
		p->given_up += p->offered - p->settled;
		p->settled = p->offered;
	}
}

/*
 * Whether a frame more may be under way. Who may not send waits until half of
 * them came: the CPU that counts has the line of memory to itself meanwhile.
 */
INLINE int has_room(struct progress *p)
{
	u32 first = 0;

	if (!plan.in_flight_max || p->offered - p->settled < plan.in_flight_max)
		return 1;
	void *sink = bpf_map_lookup_elem(&sinks, &first);
	u64 *reached = sink ? bpf_map_lookup_elem(sink, &first) : 0;

	if (!reached)
		return 1;
	if (!p->waits_since_ns)
		p->waits_since_ns = p->now_ns;
	for (int look = 0; look < LOOKS; look++) {
		look_at_clock(p);
		look_at_sink(p, reached);
		if (p->offered - p->settled <= plan.in_flight_max / 2) {
			p->waits_since_ns = 0;
			return 1;
		}
	}
	return 0;
}

/* Whose turn it is. */
INLINE u32 next_size(struct progress *p)
{
	u32 position = p->position;

	p->position = position + 1 < plan.order_count ? position + 1 : 0;
	return plan.order[position & (ORDER_MAX - 1)] & (SIZES_MAX - 1);
}

/* Zeroes over the stamps that frames of smaller sizes left in this page. */
INLINE int erase_stamps(struct xdp_md *ctx, u32 index)
{
	for (u32 smaller = 0; smaller < SIZES_MAX - 1; smaller++) {
		if (smaller >= index)
			break;
		u64 offset = plan.sizes[smaller].frame_bytes - STAMP_BYTES;

		OPAQUE(offset);
		offset &= FRAME_BYTES_MAX;
		struct stamp *old = DATA(ctx) + offset;

		if ((void *)(old + 1) > DATA_END(ctx))
			return -1;
		*old = (struct stamp){};
	}
	return 0;
}

INLINE int write_head(struct xdp_md *ctx, const struct size *size)
{
	u64 *to = DATA(ctx);

	if ((void *)to + HEAD_BYTES_V4 > DATA_END(ctx))
		return -1;
	for (int i = 0; i < HEAD_BYTES_V4 / 8; i++)
		to[i] = size->head[i];
	if (!plan.is_v6)
		return 0;
	if ((void *)to + HEAD_BYTES_MAX > DATA_END(ctx))
		return -1;
	for (int i = HEAD_BYTES_V4 / 8; i < HEAD_BYTES_MAX / 8; i++)
		to[i] = size->head[i];
	return 0;
}

/* Sum of the stamp's words, as they count in the UDP checksum. */
INLINE u64 stamp_sum(struct stamp *stamp, u32 frame_bytes)
{
	u64 sum = checksum_of_32(STAMP_TAG(stamp)) + STAMP_SEQUENCE_HIGH(stamp) +
		  checksum_of_32(STAMP_SEQUENCE_LOW(stamp)) + checksum_of_64(STAMP_DUE_NS(stamp));

	/* From an odd place of the payload the bytes change sides. */
	return frame_bytes & 1 ? ntohs(checksum_fold(sum)) : sum;
}

INLINE u16 udp_checksum(u64 sum)
{
	u16 checksum = ~checksum_fold(sum);

	/* 0 means none (RFC 768). */
	return checksum ? checksum : 0xffff;
}

/* Where the fields lie that change, from the IP header on. */
enum {
	V4_CHECKSUM = 10,
	V4_SOURCE = 12,
	V4_DESTINATION = 16,
	V4_UDP_SOURCE = 20,
	V4_UDP_CHECKSUM = 26,
	V4_END = 28,
	V6_DESTINATION_LOW = 32,
	V6_UDP_SOURCE = 40,
	V6_UDP_CHECKSUM = 46,
	V6_END = 48,
};

/* The IP header, if the frame has so many bytes from there. */
INLINE void *network_of(struct xdp_md *ctx, u64 bytes)
{
	u64 offset = plan.ip_offset;

	OPAQUE(offset);
	void *ip = DATA(ctx) + (offset & 31);

	return ip + bytes > DATA_END(ctx) ? 0 : ip;
}

INLINE int write_v4(struct xdp_md *ctx, const struct size *size, u32 turn, u64 sequence,
		    u64 payload_sum)
{
	/* Another one for each destination in each round. */
	u32 round = sequence >> (plan.round_shift & 31);
	u32 in_round = sequence & plan.destination_mask;
	be32 source = htonl(plan.source + ((in_round + round) & plan.source_mask));
	be32 destination = htonl((u32)plan.destination + turn * plan.stride);
	be16 port = htons((u16)(plan.source_port + turn));
	u64 sum = checksum_of_32(source) + checksum_of_32(destination);
	void *ip = network_of(ctx, V4_END);

	if (!ip)
		return -1;
	AT(be32, ip, V4_SOURCE) = source;
	AT(be32, ip, V4_DESTINATION) = destination;
	AT(be16, ip, V4_CHECKSUM) = ~checksum_fold(size->ip_sum + sum);
	AT(be16, ip, V4_UDP_SOURCE) = port;
	if (plan.has_udp_sum)
		AT(be16, ip, V4_UDP_CHECKSUM) =
			udp_checksum(size->udp_sum + sum + port + payload_sum);
	return 0;
}

INLINE int write_v6(struct xdp_md *ctx, const struct size *size, u32 turn, u64 payload_sum)
{
	be64 low = htonll(plan.destination + (u64)turn * plan.stride);
	be16 port = htons((u16)(plan.source_port + turn));
	void *ip = network_of(ctx, V6_END);

	if (!ip)
		return -1;
	AT(be64, ip, V6_DESTINATION_LOW) = low;
	AT(be16, ip, V6_UDP_SOURCE) = port;
	if (plan.has_udp_sum)
		AT(be16, ip, V6_UDP_CHECKSUM) =
			udp_checksum(size->udp_sum + checksum_of_64(low) + port + payload_sum);
	return 0;
}

/*
 * A permutation of the destinations, the same each round. In rising order
 * caches and prefetchers would know what comes next.
 */
INLINE u32 turn_of(u64 sequence)
{
	u32 turn = (u32)sequence * TURN_FACTOR & plan.destination_mask;

	turn ^= turn >> (plan.turn_shift & 31);
	return turn * TURN_FACTOR & plan.destination_mask;
}

INLINE int write_frame(struct xdp_md *ctx, u32 index, u64 sequence, u64 due_ns)
{
	const struct size *size = &plan.sizes[index & (SIZES_MAX - 1)];
	u32 turn = turn_of(sequence);

	if (plan.size_count > 1 && erase_stamps(ctx, index))
		return -1;
	if (write_head(ctx, size))
		return -1;
	struct stamp *stamp = stamp_of(ctx);

	if (!stamp)
		return -1;
	STAMP_TAG(stamp) = plan.tag;
	STAMP_SEQUENCE_HIGH(stamp) = htons((u16)(sequence >> 32));
	STAMP_SEQUENCE_LOW(stamp) = htonl((u32)sequence);
	STAMP_DUE_NS(stamp) = htonll(due_ns);
	u64 sum = plan.has_udp_sum ? stamp_sum(stamp, size->frame_bytes) : 0;

	return plan.is_v6 ? write_v6(ctx, size, turn, sum) :
			    write_v4(ctx, size, turn, sequence, sum);
}

/* The page holds a frame of the largest size, after the lead. */
INLINE int shorten(struct xdp_md *ctx, u32 index)
{
	s64 length = DATA_END(ctx) - DATA(ctx);

	OPAQUE(length);
	s64 excess = length - plan.sizes[index & (SIZES_MAX - 1)].frame_bytes;

	return excess > 0 ? bpf_xdp_adjust_tail(ctx, -excess) : 0;
}

SEC("xdp")
int generate(struct xdp_md *ctx)
{
	struct progress *p = &progress;

	if (p->done)
		return XDP_DROP;
	if (p->offered >= plan.frames_max) {
		p->done = 1;
		return XDP_DROP;
	}
	u64 due_ns = next_due(p);

	if (!due_ns || !has_room(p))
		return XDP_DROP;
	u32 index = next_size(p);

	if (bpf_xdp_adjust_head(ctx, LEAD_BYTES))
		return XDP_ABORTED;
	if (plan.size_count > 1 && shorten(ctx, index))
		return XDP_ABORTED;
	if (write_frame(ctx, index, p->offered, due_ns))
		return XDP_ABORTED;
	p->offered++;
	p->due += plan.interval;
	p->last_ns = due_ns;
	return bpf_redirect_map(&port, 0, 0);
}

char _license[] SEC("license") = "GPL";
