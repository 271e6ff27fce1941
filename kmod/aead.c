// SPDX-License-Identifier: GPL-2.0-only
#include <crypto/aead.h>
#include <crypto/authenc.h>
#include <linux/err.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>

#include "slot.h"
#include "transform.h"

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* They draw a salt of their own, so that no other driver gives their output. */
static int check_generator(const char *algorithm, struct kspeed_fault *fault)
{
	if (!starts_with(algorithm, "seqiv(") && !starts_with(algorithm, "echainiv("))
		return 0;
	return kspeed_fault(fault, -EOPNOTSUPP, "algorithms that take the IV they are given",
			    "measure what stands within the parentheses",
			    "\"%s\" generates IVs", algorithm);
}

static int check_size(struct crypto_aead *cipher, const struct kspeed_spec *spec,
		      struct kspeed_fault *fault)
{
	unsigned int block = crypto_aead_blocksize(cipher);

	if (crypto_aead_ivsize(cipher) > KSPEED_IV_BYTES_MAX)
		return kspeed_fault(fault, -EOPNOTSUPP, "32 bytes", "choose another algorithm",
				    "its IV has %u bytes", crypto_aead_ivsize(cipher));
	if (spec->size_bytes % block == 0)
		return 0;
	kspeed_fault(fault, -EINVAL, "", "choose a size that keeps this limit",
		     "size=%u does not suit \"%s\"", spec->size_bytes, spec->driver);
	kspeed_fault_limit(fault, "a multiple of %u bytes", block);
	return -EINVAL;
}

static int set_tag(struct crypto_aead *cipher, const struct kspeed_spec *spec,
		   struct kspeed_fault *fault)
{
	int err = crypto_aead_setauthsize(cipher, spec->tag_bytes);

	if (!err)
		return 0;
	kspeed_fault(fault, err, "", "choose a tag= that the algorithm defines",
		     "\"%s\" does not take a tag of %u bytes", spec->driver, spec->tag_bytes);
	kspeed_fault_limit(fault, "at most %u bytes, and the sizes the algorithm defines",
			   crypto_aead_maxauthsize(cipher));
	return err;
}

/* key= is the cipher's; authenc wants a second one, as long as the digest. */
static unsigned int make_authenc_key(struct crypto_aead *cipher,
				     const struct kspeed_spec *spec, u8 *key)
{
	struct crypto_authenc_key_param *param = (void *)(key + RTA_LENGTH(0));
	struct rtattr *attribute = (void *)key;
	unsigned int head = RTA_SPACE(sizeof(*param));
	unsigned int both = crypto_aead_maxauthsize(cipher) + spec->key_bytes;

	attribute->rta_type = CRYPTO_AUTHENC_KEYA_PARAM;
	attribute->rta_len = RTA_LENGTH(sizeof(*param));
	param->enckeylen = cpu_to_be32(spec->key_bytes);
	kspeed_test_key(key + head, both);
	return head + both;
}

static int set_key(struct crypto_aead *cipher, const char *algorithm,
		   const struct kspeed_spec *spec, struct kspeed_fault *fault)
{
	u8 key[KSPEED_KEY_BYTES_MAX + 128] __aligned(RTA_ALIGNTO);
	unsigned int bytes = spec->key_bytes;
	int err;

	if (starts_with(algorithm, "authenc"))
		bytes = make_authenc_key(cipher, spec, key);
	else
		kspeed_test_key(key, bytes);
	err = crypto_aead_setkey(cipher, key, bytes);
	return err ? kspeed_fault_key(fault, spec, err) : 0;
}

static int aead_open(struct kspeed_transform *transform, const char *driver, u32 mask,
		     struct kspeed_fault *fault)
{
	const struct kspeed_spec *spec = transform->spec;
	struct crypto_aead *cipher = crypto_alloc_aead(driver, 0, mask);
	const char *algorithm;
	int err;

	if (IS_ERR(cipher))
		return kspeed_fault_no_driver(fault, "aead", driver, PTR_ERR(cipher));
	algorithm = crypto_tfm_alg_name(crypto_aead_tfm(cipher));
	err = check_generator(algorithm, fault);
	err = err ?: check_size(cipher, spec, fault);
	err = err ?: set_tag(cipher, spec, fault);
	err = err ?: set_key(cipher, algorithm, spec, fault);
	if (err) {
		crypto_free_aead(cipher);
		return err;
	}
	transform->handle = cipher;
	return 0;
}

static void aead_close(struct kspeed_transform *transform)
{
	crypto_free_aead(transform->handle);
}

static struct crypto_tfm *aead_tfm(const struct kspeed_transform *transform)
{
	return crypto_aead_tfm(transform->handle);
}

static void *aead_alloc(struct kspeed_transform *transform)
{
	return aead_request_alloc(transform->handle, KSPEED_GFP);
}

static void aead_free(void *request)
{
	aead_request_free(request);
}

static unsigned int aead_bytes(const struct kspeed_transform *transform)
{
	return sizeof(struct aead_request) + crypto_aead_reqsize(transform->handle);
}

static void aead_set_callback(void *request, u32 flags, crypto_completion_t complete,
			      void *data)
{
	aead_request_set_callback(request, flags, complete, data);
}

static void aead_body_bytes(const struct kspeed_spec *spec, unsigned int *in,
			    unsigned int *out)
{
	bool encrypt = spec->op == KSPEED_ENCRYPT;

	*in = spec->size_bytes + (encrypt ? 0 : spec->tag_bytes);
	*out = spec->size_bytes + (encrypt ? spec->tag_bytes : 0);
}

static void aead_bind(struct kspeed_slot *slot)
{
	const struct kspeed_spec *spec = slot->transform->spec;
	unsigned int in, out;

	aead_body_bytes(spec, &in, &out);
	aead_request_set_ad(slot->request, spec->aad_bytes);
	aead_request_set_crypt(slot->request, slot->src.sg, kspeed_slot_out(slot)->sg, in,
			       slot->iv);
}

/* Decryption wants a source with a valid tag: made from the destination. */
static int aead_fill(struct kspeed_slot *slot, u32 seed)
{
	int err;

	kspeed_buffer_fill(&slot->src, seed);
	if (slot->transform->spec->op == KSPEED_ENCRYPT)
		return 0;
	kspeed_buffer_fill(&slot->dst, seed);
	aead_request_set_crypt(slot->request, slot->dst.sg, slot->src.sg,
			       slot->transform->spec->size_bytes, slot->iv);
	memcpy(slot->iv, slot->iv_start, KSPEED_IV_BYTES_MAX);
	kspeed_slot_begin_wait(slot);
	err = kspeed_slot_end_wait(slot, crypto_aead_encrypt(slot->request));
	if (slot->lost)
		return err;
	kspeed_buffer_clear(&slot->dst);
	aead_bind(slot);
	return err;
}

static int aead_encrypt(struct kspeed_slot *slot)
{
	memcpy(slot->iv, slot->iv_start, KSPEED_IV_BYTES_MAX);
	return crypto_aead_encrypt(slot->request);
}

static int aead_decrypt(struct kspeed_slot *slot)
{
	memcpy(slot->iv, slot->iv_start, KSPEED_IV_BYTES_MAX);
	return crypto_aead_decrypt(slot->request);
}

static kspeed_submit aead_submitter(enum kspeed_op op)
{
	return op == KSPEED_ENCRYPT ? aead_encrypt : aead_decrypt;
}

const struct kspeed_type kspeed_aead = {
	.name = "aead",
	.ops = BIT(KSPEED_ENCRYPT) | BIT(KSPEED_DECRYPT),
	.op_default = KSPEED_ENCRYPT,
	.size_bytes_default = 512,
	.key_bytes_default = 16,
	.aad_bytes_default = 16,
	.tag_bytes_default = 16,
	/* Decryption leaves a tag that the text it left does not have. */
	.in_place_ops = BIT(KSPEED_ENCRYPT),
	.key_remedy = "choose key= in bytes (rfc4106: the cipher's and 4; authenc: the cipher's)",
	.open = aead_open,
	.close = aead_close,
	.tfm = aead_tfm,
	.request_alloc = aead_alloc,
	.request_free = aead_free,
	.request_bytes = aead_bytes,
	.set_callback = aead_set_callback,
	.bind = aead_bind,
	.fill = aead_fill,
	.submitter = aead_submitter,
	.body_bytes = aead_body_bytes,
};
