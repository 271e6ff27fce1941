// SPDX-License-Identifier: GPL-2.0-only
#include <crypto/skcipher.h>
#include <linux/err.h>
#include <linux/string.h>

#include "slot.h"
#include "transform.h"

static bool takes_any_length_from_a_block(const char *algorithm)
{
	return !strncmp(algorithm, "xts(", 4) || !strncmp(algorithm, "cts(", 4);
}

static int check_size(struct crypto_skcipher *cipher, const struct kspeed_spec *spec,
		      struct kspeed_fault *fault)
{
	const char *algorithm = crypto_tfm_alg_name(crypto_skcipher_tfm(cipher));
	unsigned int block = crypto_skcipher_blocksize(cipher);
	bool stealing = takes_any_length_from_a_block(algorithm);

	if (stealing ? spec->size_bytes >= block : spec->size_bytes % block == 0)
		return 0;
	kspeed_fault(fault, -EINVAL, "", "choose a size that keeps this limit",
		     "size=%u does not suit %s", spec->size_bytes, algorithm);
	kspeed_fault_limit(fault, stealing ? "at least %u bytes" : "a multiple of %u bytes",
			   block);
	return -EINVAL;
}

static int set_key(struct crypto_skcipher *cipher, const struct kspeed_spec *spec,
		   struct kspeed_fault *fault)
{
	u8 key[KSPEED_KEY_BYTES_MAX];
	int err;

	kspeed_test_key(key, spec->key_bytes);
	err = crypto_skcipher_setkey(cipher, key, spec->key_bytes);
	if (!err)
		return 0;
	kspeed_fault_key(fault, spec, err);
	kspeed_fault_limit(fault, "%u to %u bytes, and the sizes the algorithm defines",
			   crypto_skcipher_min_keysize(cipher),
			   crypto_skcipher_max_keysize(cipher));
	return err;
}

static int check_iv(struct crypto_skcipher *cipher, struct kspeed_fault *fault)
{
	if (crypto_skcipher_ivsize(cipher) <= KSPEED_IV_BYTES_MAX)
		return 0;
	return kspeed_fault(fault, -EOPNOTSUPP, "32 bytes", "choose another algorithm",
			    "its IV has %u bytes", crypto_skcipher_ivsize(cipher));
}

static int skcipher_open(struct kspeed_transform *transform, const char *driver,
			 u32 mask, struct kspeed_fault *fault)
{
	const struct kspeed_spec *spec = transform->spec;
	struct crypto_skcipher *cipher = crypto_alloc_skcipher(driver, 0, mask);
	int err;

	if (IS_ERR(cipher))
		return kspeed_fault_no_driver(fault, "skcipher", driver, PTR_ERR(cipher));
	err = check_size(cipher, spec, fault);
	if (!err)
		err = check_iv(cipher, fault);
	if (!err)
		err = set_key(cipher, spec, fault);
	if (err) {
		crypto_free_skcipher(cipher);
		return err;
	}
	transform->handle = cipher;
	return 0;
}

static void skcipher_close(struct kspeed_transform *transform)
{
	crypto_free_skcipher(transform->handle);
}

static struct crypto_tfm *skcipher_tfm(const struct kspeed_transform *transform)
{
	return crypto_skcipher_tfm(transform->handle);
}

static void *skcipher_alloc(struct kspeed_transform *transform)
{
	return skcipher_request_alloc(transform->handle, KSPEED_GFP);
}

static void skcipher_free(void *request)
{
	skcipher_request_free(request);
}

static unsigned int skcipher_bytes(const struct kspeed_transform *transform)
{
	return sizeof(struct skcipher_request) + crypto_skcipher_reqsize(transform->handle);
}

static void skcipher_set_callback(void *request, u32 flags, crypto_completion_t complete,
				  void *data)
{
	skcipher_request_set_callback(request, flags, complete, data);
}

static void skcipher_bind(struct kspeed_slot *slot)
{
	skcipher_request_set_crypt(slot->request, slot->src.sg, kspeed_slot_out(slot)->sg,
				   slot->transform->spec->size_bytes, slot->iv);
}

static int skcipher_fill(struct kspeed_slot *slot, u32 seed)
{
	kspeed_buffer_fill(&slot->src, seed);
	return 0;
}

static int skcipher_encrypt(struct kspeed_slot *slot)
{
	memcpy(slot->iv, slot->iv_start, KSPEED_IV_BYTES_MAX);
	return crypto_skcipher_encrypt(slot->request);
}

static int skcipher_decrypt(struct kspeed_slot *slot)
{
	memcpy(slot->iv, slot->iv_start, KSPEED_IV_BYTES_MAX);
	return crypto_skcipher_decrypt(slot->request);
}

static kspeed_submit skcipher_submitter(enum kspeed_op op)
{
	return op == KSPEED_ENCRYPT ? skcipher_encrypt : skcipher_decrypt;
}

static void skcipher_body_bytes(const struct kspeed_spec *spec, unsigned int *in,
				unsigned int *out)
{
	*in = spec->size_bytes;
	*out = spec->size_bytes;
}

const struct kspeed_type kspeed_skcipher = {
	.name = "skcipher",
	.ops = BIT(KSPEED_ENCRYPT) | BIT(KSPEED_DECRYPT),
	.op_default = KSPEED_ENCRYPT,
	.size_bytes_default = 512,
	.key_bytes_default = 16,
	.in_place_ops = BIT(KSPEED_ENCRYPT) | BIT(KSPEED_DECRYPT),
	.key_remedy = "choose key= in bytes (xts takes twice the cipher's: 32 or 64)",
	.open = skcipher_open,
	.close = skcipher_close,
	.tfm = skcipher_tfm,
	.request_alloc = skcipher_alloc,
	.request_free = skcipher_free,
	.request_bytes = skcipher_bytes,
	.set_callback = skcipher_set_callback,
	.bind = skcipher_bind,
	.fill = skcipher_fill,
	.submitter = skcipher_submitter,
	.body_bytes = skcipher_body_bytes,
};
