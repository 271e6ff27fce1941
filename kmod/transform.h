/* SPDX-License-Identifier: GPL-2.0-only */
/* A kind of algorithm behind one interface, and an instance of one driver. */
#ifndef KSPEED_TRANSFORM_H
#define KSPEED_TRANSFORM_H

#include <linux/types.h>

#include "compat.h"
#include "fault.h"
#include "spec.h"

struct kspeed_slot;

/* Returns as the crypto API does: 0, -EINPROGRESS, -EBUSY or an error. */
typedef int (*kspeed_submit)(struct kspeed_slot *slot);

struct kspeed_transform {
	const struct kspeed_spec *spec;
	void *handle;			/* struct crypto_skcipher and so on */
	unsigned int out_bytes;		/* body of the destination */
	bool lost;			/* a request is lost: never closed */
	bool randomized;		/* same input, different output */
};

struct kspeed_type {
	const char *name;
	unsigned int ops;		/* bit per kspeed_op it can do */
	enum kspeed_op op_default;
	unsigned int size_bytes_default;
	unsigned int key_bytes_default;
	unsigned int aad_bytes_default;
	unsigned int tag_bytes_default;	/* 0: no tag, no associated data */
	unsigned int in_place_ops;	/* those that can run so again and again */
	const char *key_remedy;

	/* Checks the specification, allocates, sets the key. */
	int (*open)(struct kspeed_transform *transform, const char *driver,
		    u32 mask, struct kspeed_fault *fault);
	void (*close)(struct kspeed_transform *transform);
	struct crypto_tfm *(*tfm)(const struct kspeed_transform *transform);
	void *(*request_alloc)(struct kspeed_transform *transform);
	void (*request_free)(void *request);
	unsigned int (*request_bytes)(const struct kspeed_transform *transform);
	void (*set_callback)(void *request, u32 flags,
			     crypto_completion_t complete, void *data);
	/* Points the request at the slot's buffers. */
	void (*bind)(struct kspeed_slot *slot);
	/* Fills the source with something the operation accepts. */
	int (*fill)(struct kspeed_slot *slot, u32 seed);
	/* One function per operation, so that submitting decides nothing. */
	kspeed_submit (*submitter)(enum kspeed_op op);
	/* Bodies of source and destination in bytes; needs no open transform. */
	void (*body_bytes)(const struct kspeed_spec *spec, unsigned int *in,
			   unsigned int *out);
};

extern const struct kspeed_type kspeed_skcipher;
extern const struct kspeed_type kspeed_aead;
extern const struct kspeed_type kspeed_ahash;
extern const struct kspeed_type kspeed_akcipher;
extern const struct kspeed_type *const kspeed_types[];

int kspeed_transform_open(struct kspeed_transform *transform,
			  const struct kspeed_spec *spec, const char *driver,
			  u32 mask, struct kspeed_fault *fault);
void kspeed_transform_close(struct kspeed_transform *transform);
/*
 * Writes the name to open instead of spec->driver. "pcrypt(gcm(aes))" names
 * no driver, so each time it is opened the API builds another instance, on
 * top of the one before: with the inner driver's name the first is found.
 */
void kspeed_transform_resolve(const struct kspeed_spec *spec,
			      char name[CRYPTO_MAX_ALG_NAME]);

const char *kspeed_transform_algorithm(const struct kspeed_transform *transform);
const char *kspeed_transform_driver(const struct kspeed_transform *transform);
bool kspeed_transform_is_async(const struct kspeed_transform *transform);

/* For the types: one wording for what every type can meet. */
int kspeed_fault_no_driver(struct kspeed_fault *fault, const char *type,
			   const char *driver, long code);
int kspeed_fault_lost(struct kspeed_fault *fault, const char *driver);
int kspeed_fault_key(struct kspeed_fault *fault, const struct kspeed_spec *spec,
		     int code);
/* A key that is the same in every run; not weak and not secret. */
void kspeed_test_key(u8 *key, unsigned int bytes);

#endif
