/* SPDX-License-Identifier: GPL-2.0-only */
/* What one run measures. */
#ifndef KSPEED_SPEC_H
#define KSPEED_SPEC_H

#include <linux/crypto.h>
#include <linux/sizes.h>
#include <linux/types.h>

#define KSPEED_SIZE_BYTES_MAX	SZ_1M
#define KSPEED_DEPTH_MAX	4096
#define KSPEED_THREADS_MAX	64
#define KSPEED_MS_MAX		600000
#define KSPEED_KEY_BYTES_MAX	512
#define KSPEED_AAD_BYTES_MAX	4096
#define KSPEED_TAG_BYTES_MAX	64
#define KSPEED_MEMORY_BYTES_MAX	SZ_256M

enum kspeed_mode {
	KSPEED_SYNC,		/* submit one, wait for it */
	KSPEED_BATCH,		/* submit depth, wait for all of them */
	KSPEED_ASYNC,		/* a thread keeps up to depth in flight */
	KSPEED_RESUBMIT,	/* the completion callback submits again */
};

enum kspeed_op {
	KSPEED_ENCRYPT,
	KSPEED_DECRYPT,
	KSPEED_DIGEST,
	KSPEED_SIGN,
	KSPEED_VERIFY,
};

struct kspeed_type;

struct kspeed_spec {
	const struct kspeed_type *type;
	char driver[CRYPTO_MAX_ALG_NAME];
	enum kspeed_mode mode;
	enum kspeed_op op;
	unsigned int size_bytes;
	unsigned int key_bytes;		/* 0: the type chooses */
	unsigned int aad_bytes;
	unsigned int tag_bytes;
	unsigned int depth;
	unsigned int refill;		/* async: sleeps until so many are back */
	unsigned int thread_count;
	unsigned int ms;
	unsigned int warmup_ms;
	unsigned int latency;		/* 1: stamp every request */
	unsigned int backlog;		/* 1: CRYPTO_TFM_REQ_MAY_BACKLOG */
	unsigned int in_place;
};

extern const char *const kspeed_mode_names[];
extern const char *const kspeed_op_names[];

#endif
