/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs use of the kernel's user interface (include/uapi/linux/bpf.h
 * and the protocol headers), stated here so that an object depends on nothing
 * but this folder and the compiler: it is committed, and compared byte for byte.
 */
#ifndef LOCKGATE_KERNEL_H
#define LOCKGATE_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
/* In network byte order. */
typedef u16 be16;
typedef u32 be32;
typedef u64 be64;

_Static_assert(sizeof(u64) == 8 && sizeof(u32) == 4 && sizeof(u16) == 2, "widths");

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ntohs(x) __builtin_bswap16(x)
#define htons(x) __builtin_bswap16(x)
#define htonl(x) __builtin_bswap32(x)
#define ntohl(x) __builtin_bswap32(x)
#define htonll(x) __builtin_bswap64(x)
#define ntohll(x) __builtin_bswap64(x)
/* Keeps the compiler from reordering a bounds check with what it guards. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

/* What lies at any place, in one load or store: the programs run where it may. */
#define AT(type, base, offset) (*(type *)((void *)(base) + (offset)))

/* How libbpf reads the definition of a map from its type. */
#define MAP_NUMBER(name, value) int(*name)[value]
#define MAP_TYPE(name, value) typeof(value) *name
#define MAP_INNER(name, value) typeof(value) *name[]

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_DEVMAP = 14,
	BPF_MAP_TYPE_CPUMAP = 16,
	BPF_MAP_TYPE_XSKMAP = 17,
};

enum { BPF_ANY = 0, BPF_NOEXIST = 1 };

enum { BPF_F_NO_PREALLOC = 1 };

enum { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

#define DATA(ctx) ((void *)(long)(ctx)->data)
#define DATA_END(ctx) ((void *)(long)(ctx)->data_end)

/* Helpers by their numbers in the kernel's interface. */
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static long (*const bpf_xdp_adjust_tail)(struct xdp_md *ctx, int delta) = (void *)65;
static u64 (*const bpf_jiffies64)(void) = (void *)118;

struct bpf_fib_lookup {
	u8 family;
	u8 l4_protocol;
	be16 sport;
	be16 dport;
	/* In: the packet's length, for the MTU check. Out: the MTU of the route. */
	union {
		u16 tot_len;
		u16 mtu_result;
	};
	/* In: where it came from. Out: where it goes to. */
	u32 ifindex;
	union {
		u8 tos;
		be32 flowinfo;
		u32 rt_metric;
	};
	union {
		be32 ipv4_src;
		be64 ipv6_src[2];
	} __attribute__((packed, aligned(4)));
	union {
		be32 ipv4_dst;
		be64 ipv6_dst[2];
	} __attribute__((packed, aligned(4)));
	be16 h_vlan_proto;
	be16 h_vlan_TCI;
	u8 smac[6];
	u8 dmac[6];
};
_Static_assert(sizeof(struct bpf_fib_lookup) == 64, "as in the kernel");

static long (*const bpf_fib_lookup)(void *ctx, struct bpf_fib_lookup *params, int bytes,
				    u32 flags) = (void *)69;

enum {
	BPF_FIB_LKUP_RET_SUCCESS,
	BPF_FIB_LKUP_RET_BLACKHOLE,
	BPF_FIB_LKUP_RET_UNREACHABLE,
	BPF_FIB_LKUP_RET_PROHIBIT,
	BPF_FIB_LKUP_RET_NOT_FWDED,
	BPF_FIB_LKUP_RET_FWD_DISABLED,
	BPF_FIB_LKUP_RET_UNSUPP_LWT,
	BPF_FIB_LKUP_RET_NO_NEIGH,
	BPF_FIB_LKUP_RET_FRAG_NEEDED,
};

enum { BPF_FIB_LOOKUP_SKIP_NEIGH = 4 };

enum { AF_INET = 2, AF_INET6 = 10 };

#endif
