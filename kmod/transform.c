// SPDX-License-Identifier: GPL-2.0-only
#include <linux/crypto.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "slot.h"
#include "transform.h"

const struct kspeed_type *const kspeed_types[] = {
	&kspeed_skcipher,
	&kspeed_aead,
	&kspeed_ahash,
	&kspeed_akcipher,
	NULL,
};

int kspeed_transform_open(struct kspeed_transform *transform,
			  const struct kspeed_spec *spec, const char *driver,
			  u32 mask, struct kspeed_fault *fault)
{
	unsigned int in;

	transform->spec = spec;
	spec->type->body_bytes(spec, &in, &transform->out_bytes);
	return spec->type->open(transform, driver, mask, fault);
}

void kspeed_transform_close(struct kspeed_transform *transform)
{
	if (!transform->handle || transform->lost)
		return;
	transform->spec->type->close(transform);
	transform->handle = NULL;
}

static struct crypto_tfm *base(const struct kspeed_transform *transform)
{
	return transform->spec->type->tfm(transform);
}

const char *kspeed_transform_algorithm(const struct kspeed_transform *transform)
{
	return crypto_tfm_alg_name(base(transform));
}

const char *kspeed_transform_driver(const struct kspeed_transform *transform)
{
	return crypto_tfm_alg_driver_name(base(transform));
}

bool kspeed_transform_is_async(const struct kspeed_transform *transform)
{
	return base(transform)->__crt_alg->cra_flags & CRYPTO_ALG_ASYNC;
}

/* The length of "pcrypt(" and the like, if @name is made by such a template. */
static size_t wrapper_bytes(const char *name)
{
	static const char *const wrappers[] = { "pcrypt(", "cryptd(" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (!strncmp(name, wrappers[i], strlen(wrappers[i])))
			return strlen(wrappers[i]);
	return 0;
}

/* Takes "pcrypt(" and its ")" away, as often as they are there. */
static void unwrap(char *name)
{
	size_t wrapper, bytes;

	while ((wrapper = wrapper_bytes(name))) {
		bytes = strlen(name);
		if (name[bytes - 1] != ')')
			return;
		name[bytes - 1] = '\0';
		memmove(name, name + wrapper, bytes - wrapper);
	}
}

void kspeed_transform_resolve(const struct kspeed_spec *spec,
			      char name[CRYPTO_MAX_ALG_NAME])
{
	size_t wrapper = wrapper_bytes(spec->driver);
	struct kspeed_transform inner = {};
	struct kspeed_fault ignored;
	char bare[CRYPTO_MAX_ALG_NAME];
	int bytes;

	strscpy(name, spec->driver, CRYPTO_MAX_ALG_NAME);
	if (!wrapper || name[strlen(name) - 1] != ')')
		return;
	strscpy(bare, spec->driver + wrapper, sizeof(bare));
	bare[strlen(bare) - 1] = '\0';
	if (kspeed_transform_open(&inner, spec, bare, 0, &ignored))
		return;
	strscpy(bare, kspeed_transform_driver(&inner), sizeof(bare));
	kspeed_transform_close(&inner);
	unwrap(bare);
	bytes = scnprintf(name, CRYPTO_MAX_ALG_NAME, "%.*s%s)", (int)wrapper, spec->driver, bare);
	/* Cut off: the API shall say what it thinks of the name as written. */
	if (bytes == CRYPTO_MAX_ALG_NAME - 1)
		strscpy(name, spec->driver, CRYPTO_MAX_ALG_NAME);
}

int kspeed_fault_no_driver(struct kspeed_fault *fault, const char *type,
			   const char *driver, long code)
{
	switch (code) {
	case -ENOENT:
		return kspeed_fault(fault, code, "the names in /proc/crypto",
				    "load the module that provides it, or correct the name or type=",
				    "%s driver \"%s\" is not registered", type, driver);
	case -ENOMEM:
		return kspeed_fault_memory(fault, "the transform");
	case -ELIBBAD:
		return kspeed_fault(fault, code, "the kernel's self-test",
				    "choose another driver; see the kernel's log",
				    "%s driver \"%s\" failed its self-test", type, driver);
	default:
		return kspeed_fault(fault, code, "what the crypto API can instantiate",
				    "correct the name, or load the modules of its parts",
				    "%s driver \"%s\" cannot be opened (%ld)", type, driver,
				    code);
	}
}

int kspeed_fault_lost(struct kspeed_fault *fault, const char *driver)
{
	kspeed_fault(fault, -ETIMEDOUT, "",
		     "restart the machine: the memory and this module stay in use",
		     "\"%s\" has not completed a request", driver);
	kspeed_fault_limit(fault, "%u seconds", KSPEED_PATIENCE_SECONDS);
	return fault->code;
}

int kspeed_fault_key(struct kspeed_fault *fault, const struct kspeed_spec *spec,
		     int code)
{
	return kspeed_fault(fault, code, "the key sizes of the algorithm",
			    spec->type->key_remedy,
			    "\"%s\" does not take a key of %u bytes", spec->driver,
			    spec->key_bytes);
}

void kspeed_test_key(u8 *key, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i++)
		key[i] = 0x11 + 37 * i + (i >> 3);
}
