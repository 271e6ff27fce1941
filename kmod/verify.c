// SPDX-License-Identifier: GPL-2.0-only
#include <linux/crypto.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "report.h"
#include "run.h"
#include "slot.h"
#include "verify.h"

/*
 * How plain C drivers are called. Exactly so: for another name of the same
 * instance, "gcm(aes-generic)" say, the API builds a new one every time, and
 * Linux 6.1 does not free it.
 */
static const struct {
	const char *wrapper;
	const char *format;		/* with the name within the wrapper */
} generic_drivers[] = {
	{ "cbc(", "cbc(%.*s-generic)" },
	{ "ecb(", "ecb(%.*s-generic)" },
	{ "ctr(", "ctr(%.*s-generic)" },
	{ "xts(", "xts(ecb(%.*s-generic))" },
	{ "gcm(", "gcm_base(ctr(%.*s-generic),ghash-generic)" },
	{ "hmac(", "hmac(%.*s-generic)" },
	{ "", "%.*s-generic" },
};

/* "cbc(aes)" becomes "cbc(aes-generic)", "sha256" "sha256-generic". */
static bool generic_name(const char *algorithm, char *name, size_t bytes)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(generic_drivers); i++) {
		const char *wrapper = generic_drivers[i].wrapper;
		const char *inner = algorithm + strlen(wrapper);
		int length;

		if (strncmp(algorithm, wrapper, strlen(wrapper)))
			continue;
		/* "gcm(aes)" has a plain name within its wrapper, "rfc4106(gcm(aes))" not. */
		length = strcspn(inner, "(),");
		if (strcmp(inner + length, *wrapper ? ")" : ""))
			return false;
		return snprintf(name, bytes, generic_drivers[i].format, length, inner) < bytes;
	}
	return false;
}

static bool try_reference(struct kspeed_transform *reference, struct kspeed_run *run,
			  const char *name, u32 mask)
{
	const char *tested = kspeed_transform_driver(&run->workers[0]->transform);
	struct kspeed_fault ignored;

	if (kspeed_transform_open(reference, &run->spec, name, mask, &ignored))
		return false;
	if (strcmp(kspeed_transform_driver(reference), tested))
		return true;
	kspeed_transform_close(reference);
	return false;
}

/* Plain C, else the best synchronous one, else the best, else itself. */
static int open_reference(struct kspeed_transform *reference, struct kspeed_run *run,
			  struct kspeed_fault *fault)
{
	const char *algorithm = kspeed_transform_algorithm(&run->workers[0]->transform);
	char name[CRYPTO_MAX_ALG_NAME];

	if (generic_name(algorithm, name, sizeof(name)) &&
	    try_reference(reference, run, name, CRYPTO_ALG_ASYNC))
		return 0;
	if (try_reference(reference, run, algorithm, CRYPTO_ALG_ASYNC))
		return 0;
	if (try_reference(reference, run, algorithm, 0))
		return 0;
	return kspeed_transform_open(reference, &run->spec, run->driver, 0, fault);
}

static int run_both(struct kspeed_slot *slot, struct kspeed_slot *check)
{
	const struct kspeed_type *type = slot->transform->spec->type;
	int err = 0;

	memcpy(check->iv_start, slot->iv_start, sizeof(check->iv_start));
	if (slot->transform->spec->in_place) {
		type->fill(slot, 1);
		type->fill(check, 1);
		err = kspeed_slot_run_once(slot);
	}
	return err ?: kspeed_slot_run_once(check);
}

static int compare(struct kspeed_slot *slot, struct kspeed_slot *check, bool *same)
{
	const struct kspeed_spec *spec = slot->transform->spec;
	struct kspeed_buffer own = check->src;
	int err;

	if (!spec->in_place)
		check->src = slot->src;
	spec->type->bind(check);
	err = run_both(slot, check);
	*same = !err && kspeed_buffer_same_body(kspeed_slot_out(slot), kspeed_slot_out(check),
						slot->transform->out_bytes);
	if (!check->lost)
		check->src = own;
	return err;
}

static int check_slot(struct kspeed_slot *slot, struct kspeed_slot *check,
		      struct kspeed_fault *fault)
{
	bool same;
	int err = compare(slot, check, &same);

	/* Not by the code: -ETIMEDOUT is also what some drivers return. */
	if (check->lost || slot->lost) {
		slot->run->lost = true;
		return kspeed_fault_lost(fault, kspeed_transform_driver(check->lost ?
									check->transform :
									slot->transform));
	}
	if (err)
		return kspeed_fault(fault, err, "what the reference accepts",
				    "choose another size, key or driver",
				    "the reference \"%s\" fails (%d)",
				    kspeed_transform_driver(check->transform), err);
	if (same)
		return 0;
	kspeed_fault(fault, -EBADMSG, "", "do not use this driver, nor its figures",
		     "\"%s\" returned a wrong result",
		     kspeed_transform_driver(slot->transform));
	kspeed_fault_limit(fault, "what \"%s\" makes of the same input",
			   kspeed_transform_driver(check->transform));
	return -EBADMSG;
}

static int check_sample(struct kspeed_run *run, struct kspeed_slot *check,
			struct kspeed_fault *fault)
{
	unsigned int total = run->worker_count * run->spec.depth;
	unsigned int step = DIV_ROUND_UP(total, KSPEED_VERIFY_SLOTS_MAX);
	unsigned int i;
	int err = 0;

	for (i = 0; i < total && !err; i += step) {
		struct kspeed_worker *worker = run->workers[i / run->spec.depth];
		struct kspeed_slot *slot = worker->slots[i % run->spec.depth];

		if (!slot->last_error)
			err = check_slot(slot, check, fault);
		cond_resched();
	}
	return err;
}

int kspeed_verify(struct kspeed_run *run, struct kspeed_report *report,
		  struct kspeed_fault *fault)
{
	struct kspeed_transform reference = {};
	struct kspeed_slot *check;
	int err;

	/* Nothing to compare with: the report says it is not verified. */
	if (run->workers[0]->transform.randomized)
		return 0;
	err = open_reference(&reference, run, fault);

	if (err)
		return err;
	check = kspeed_slot_alloc(NULL, &reference, 0);
	err = check ? check_sample(run, check, fault) :
		      kspeed_fault_memory(fault, "the reference's request");
	if (!err)
		strscpy(report->verified_by, kspeed_transform_driver(&reference),
			sizeof(report->verified_by));
	kspeed_slot_free(check);
	kspeed_transform_close(&reference);
	return err;
}
