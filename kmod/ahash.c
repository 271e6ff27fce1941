// SPDX-License-Identifier: GPL-2.0-only
#include <crypto/hash.h>
#include <linux/err.h>

#include "slot.h"
#include "transform.h"

#define DIGEST_BYTES_MAX	64

static int check_digest(struct crypto_ahash *hash, struct kspeed_fault *fault)
{
	if (crypto_ahash_digestsize(hash) <= DIGEST_BYTES_MAX)
		return 0;
	return kspeed_fault(fault, -EOPNOTSUPP, "64 bytes", "choose another hash",
			    "its digest has %u bytes", crypto_ahash_digestsize(hash));
}

static int set_key(struct crypto_ahash *hash, const struct kspeed_spec *spec,
		   struct kspeed_fault *fault)
{
	u8 key[KSPEED_KEY_BYTES_MAX];
	int err;

	if (!spec->key_bytes) {
		if (!(crypto_ahash_get_flags(hash) & CRYPTO_TFM_NEED_KEY))
			return 0;
		return kspeed_fault(fault, -ENOKEY, "a key", "add key= in bytes",
				    "\"%s\" needs a key", spec->driver);
	}
	kspeed_test_key(key, spec->key_bytes);
	err = crypto_ahash_setkey(hash, key, spec->key_bytes);
	return err ? kspeed_fault_key(fault, spec, err) : 0;
}

static int ahash_open(struct kspeed_transform *transform, const char *driver, u32 mask,
		      struct kspeed_fault *fault)
{
	struct crypto_ahash *hash = crypto_alloc_ahash(driver, 0, mask);
	int err;

	if (IS_ERR(hash))
		return kspeed_fault_no_driver(fault, "ahash", driver, PTR_ERR(hash));
	err = check_digest(hash, fault);
	err = err ?: set_key(hash, transform->spec, fault);
	if (err) {
		crypto_free_ahash(hash);
		return err;
	}
	transform->handle = hash;
	transform->out_bytes = crypto_ahash_digestsize(hash);
	return 0;
}

static void ahash_close(struct kspeed_transform *transform)
{
	crypto_free_ahash(transform->handle);
}

static struct crypto_tfm *ahash_tfm(const struct kspeed_transform *transform)
{
	return crypto_ahash_tfm(transform->handle);
}

static void *ahash_alloc(struct kspeed_transform *transform)
{
	return ahash_request_alloc(transform->handle, KSPEED_GFP);
}

static void ahash_free(void *request)
{
	ahash_request_free(request);
}

static unsigned int ahash_bytes(const struct kspeed_transform *transform)
{
	return sizeof(struct ahash_request) + crypto_ahash_reqsize(transform->handle);
}

static void ahash_set_callback(void *request, u32 flags, crypto_completion_t complete,
			       void *data)
{
	ahash_request_set_callback(request, flags, complete, data);
}

static void ahash_bind(struct kspeed_slot *slot)
{
	ahash_request_set_crypt(slot->request, slot->src.sg, sg_virt(slot->dst.sg),
				slot->transform->spec->size_bytes);
}

static int ahash_fill(struct kspeed_slot *slot, u32 seed)
{
	kspeed_buffer_fill(&slot->src, seed);
	return 0;
}

static int ahash_digest(struct kspeed_slot *slot)
{
	return crypto_ahash_digest(slot->request);
}

static kspeed_submit ahash_submitter(enum kspeed_op op)
{
	return ahash_digest;
}

static void ahash_body_bytes(const struct kspeed_spec *spec, unsigned int *in,
			     unsigned int *out)
{
	*in = spec->size_bytes;
	*out = DIGEST_BYTES_MAX;
}

const struct kspeed_type kspeed_ahash = {
	.name = "ahash",
	.ops = BIT(KSPEED_DIGEST),
	.op_default = KSPEED_DIGEST,
	.size_bytes_default = 512,
	.key_remedy = "choose key= in bytes; leave it out for a hash without a key",
	.open = ahash_open,
	.close = ahash_close,
	.tfm = ahash_tfm,
	.request_alloc = ahash_alloc,
	.request_free = ahash_free,
	.request_bytes = ahash_bytes,
	.set_callback = ahash_set_callback,
	.bind = ahash_bind,
	.fill = ahash_fill,
	.submitter = ahash_submitter,
	.body_bytes = ahash_body_bytes,
};
