// SPDX-License-Identifier: GPL-2.0-only
#include <crypto/akcipher.h>
#include <linux/err.h>
#include <linux/string.h>

#include "rsa_test_key.h"
#include "slot.h"
#include "transform.h"

/* RFC 8017, 7.2.1: at least eight bytes of padding between three fixed ones. */
#define PKCS1_PADDING_BYTES_MIN	11

/* From 6.13 on signatures have an interface of their own (crypto_sig), which
 * has no requests and so nothing asynchronous to measure.
 */
#define HAS_SIGNATURES	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))

static bool is_padded(const char *algorithm)
{
	return !strncmp(algorithm, "pkcs1pad(", 9);
}

static bool transform_is_padded(const struct kspeed_transform *transform)
{
	return is_padded(kspeed_transform_algorithm(transform));
}

static int check_spec(const struct kspeed_spec *spec, const char *algorithm,
		      struct kspeed_fault *fault)
{
	unsigned int padding = is_padded(algorithm) ? PKCS1_PADDING_BYTES_MIN : 0;
	bool signature = spec->op == KSPEED_SIGN || spec->op == KSPEED_VERIFY;

	if (signature && !HAS_SIGNATURES)
		return kspeed_fault(fault, -EOPNOTSUPP, "kernels before 6.13",
				    "choose op=encrypt or op=decrypt",
				    "this kernel has no asynchronous signatures");
	if (signature && !padding)
		return kspeed_fault(fault, -EOPNOTSUPP, "algorithms with padding",
				    "choose a driver such as pkcs1pad(rsa,sha256)",
				    "\"%s\" cannot sign", algorithm);
	if (spec->key_bytes != KSPEED_RSA_KEY_BYTES)
		return kspeed_fault(fault, -EINVAL, "256 bytes", "leave key out",
				    "key=%u: only a test key of 2048 bits is built in",
				    spec->key_bytes);
	if (spec->size_bytes <= KSPEED_RSA_KEY_BYTES - padding)
		return 0;
	kspeed_fault(fault, -EINVAL, "", "choose a smaller size",
		     "size=%u is longer than the key allows", spec->size_bytes);
	kspeed_fault_limit(fault, "%u bytes", KSPEED_RSA_KEY_BYTES - padding);
	return -EINVAL;
}

static int set_key(struct crypto_akcipher *cipher, const struct kspeed_spec *spec,
		   struct kspeed_fault *fault)
{
	int err;

	if (spec->op == KSPEED_ENCRYPT)
		err = crypto_akcipher_set_pub_key(cipher, kspeed_rsa_public_key,
						  sizeof(kspeed_rsa_public_key));
	else
		err = crypto_akcipher_set_priv_key(cipher, kspeed_rsa_private_key,
						   sizeof(kspeed_rsa_private_key));
	return err ? kspeed_fault_key(fault, spec, err) : 0;
}

static int akcipher_open(struct kspeed_transform *transform, const char *driver, u32 mask,
			 struct kspeed_fault *fault)
{
	const struct kspeed_spec *spec = transform->spec;
	struct crypto_akcipher *cipher = crypto_alloc_akcipher(driver, 0, mask);
	const char *algorithm;
	int err;

	if (IS_ERR(cipher))
		return kspeed_fault_no_driver(fault, "akcipher", driver, PTR_ERR(cipher));
	algorithm = crypto_tfm_alg_name(crypto_akcipher_tfm(cipher));
	err = check_spec(spec, algorithm, fault);
	err = err ?: set_key(cipher, spec, fault);
	if (err) {
		crypto_free_akcipher(cipher);
		return err;
	}
	transform->handle = cipher;
	transform->randomized = is_padded(algorithm) && spec->op == KSPEED_ENCRYPT;
	if (is_padded(algorithm) && spec->op == KSPEED_DECRYPT)
		transform->out_bytes = spec->size_bytes;
	if (spec->op == KSPEED_VERIFY)
		transform->out_bytes = 0;
	return 0;
}

static void akcipher_close(struct kspeed_transform *transform)
{
	crypto_free_akcipher(transform->handle);
}

static struct crypto_tfm *akcipher_tfm(const struct kspeed_transform *transform)
{
	return crypto_akcipher_tfm(transform->handle);
}

static void *akcipher_alloc(struct kspeed_transform *transform)
{
	return akcipher_request_alloc(transform->handle, KSPEED_GFP);
}

static void akcipher_free(void *request)
{
	akcipher_request_free(request);
}

static unsigned int akcipher_bytes(const struct kspeed_transform *transform)
{
	return sizeof(struct akcipher_request) + crypto_akcipher_reqsize(transform->handle);
}

static void akcipher_set_callback(void *request, u32 flags, crypto_completion_t complete,
				  void *data)
{
	akcipher_request_set_callback(request, flags, complete, data);
}

/* A padded ciphertext, or a signature and the digest it is of, fits both. */
static void akcipher_body_bytes(const struct kspeed_spec *spec, unsigned int *in,
				unsigned int *out)
{
	*in = 2 * KSPEED_RSA_KEY_BYTES;
	*out = KSPEED_RSA_KEY_BYTES;
}

static unsigned int source_bytes(const struct kspeed_slot *slot)
{
	const struct kspeed_spec *spec = slot->transform->spec;

	if (spec->op == KSPEED_VERIFY ||
	    (spec->op == KSPEED_DECRYPT && transform_is_padded(slot->transform)))
		return KSPEED_RSA_KEY_BYTES;
	return spec->size_bytes;
}

/* Before every submission: drivers overwrite the length of the destination. */
static void akcipher_bind(struct kspeed_slot *slot)
{
	if (slot->transform->spec->op == KSPEED_VERIFY)
		akcipher_request_set_crypt(slot->request, slot->src.sg, NULL,
					   source_bytes(slot),
					   slot->transform->spec->size_bytes);
	else
		akcipher_request_set_crypt(slot->request, slot->src.sg, slot->dst.sg,
					   source_bytes(slot), KSPEED_RSA_KEY_BYTES);
}

static int do_sign(struct akcipher_request *request)
{
#if HAS_SIGNATURES
	return crypto_akcipher_sign(request);
#else
	return -EOPNOTSUPP;
#endif
}

static int do_verify(struct akcipher_request *request)
{
#if HAS_SIGNATURES
	return crypto_akcipher_verify(request);
#else
	return -EOPNOTSUPP;
#endif
}

/* From the message in the destination to what the operation wants. */
static int make_source(struct kspeed_slot *slot)
{
	const struct kspeed_spec *spec = slot->transform->spec;
	u8 *source = sg_virt(slot->src.sg);
	int err;

	kspeed_slot_begin_wait(slot);
	akcipher_request_set_crypt(slot->request, slot->dst.sg, slot->src.sg,
				   spec->size_bytes, KSPEED_RSA_KEY_BYTES);
	err = spec->op == KSPEED_VERIFY ? do_sign(slot->request) :
					  crypto_akcipher_encrypt(slot->request);
	err = kspeed_slot_end_wait(slot, err);
	memcpy(source + KSPEED_RSA_KEY_BYTES, sg_virt(slot->dst.sg), spec->size_bytes);
	return err;
}

static int akcipher_fill(struct kspeed_slot *slot, u32 seed)
{
	int err = 0;

	kspeed_buffer_fill(&slot->src, seed);
	/* Keeps the number below the modulus. */
	*(u8 *)sg_virt(slot->src.sg) = 1;
	if (source_bytes(slot) == KSPEED_RSA_KEY_BYTES &&
	    transform_is_padded(slot->transform)) {
		kspeed_buffer_fill(&slot->dst, seed);
		err = make_source(slot);
		if (slot->lost)
			return err;
		kspeed_buffer_clear(&slot->dst);
	}
	akcipher_bind(slot);
	return err;
}

static int akcipher_submit(struct kspeed_slot *slot)
{
	akcipher_bind(slot);
	switch (slot->transform->spec->op) {
	case KSPEED_ENCRYPT:
		return crypto_akcipher_encrypt(slot->request);
	case KSPEED_DECRYPT:
		return crypto_akcipher_decrypt(slot->request);
	case KSPEED_SIGN:
		return do_sign(slot->request);
	default:
		return do_verify(slot->request);
	}
}

/* Thousands of times slower than the others: one function will do. */
static kspeed_submit akcipher_submitter(enum kspeed_op op)
{
	return akcipher_submit;
}

const struct kspeed_type kspeed_akcipher = {
	.name = "akcipher",
	.ops = BIT(KSPEED_ENCRYPT) | BIT(KSPEED_DECRYPT) | BIT(KSPEED_SIGN) |
	       BIT(KSPEED_VERIFY),
	.op_default = KSPEED_ENCRYPT,
	.size_bytes_default = 32,
	.key_bytes_default = KSPEED_RSA_KEY_BYTES,
	.key_remedy = "choose an RSA driver: the built-in test key is one of 2048 bits",
	.open = akcipher_open,
	.close = akcipher_close,
	.tfm = akcipher_tfm,
	.request_alloc = akcipher_alloc,
	.request_free = akcipher_free,
	.request_bytes = akcipher_bytes,
	.set_callback = akcipher_set_callback,
	.bind = akcipher_bind,
	.fill = akcipher_fill,
	.submitter = akcipher_submitter,
	.body_bytes = akcipher_body_bytes,
};
