// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "control.h"
#include "run.h"
#include "spec.h"
#include "transform.h"

#define UNSET	UINT_MAX

const char *const kspeed_mode_names[] = {
	[KSPEED_SYNC] = "sync",
	[KSPEED_BATCH] = "batch",
	[KSPEED_ASYNC] = "async",
	[KSPEED_RESUBMIT] = "resubmit",
	NULL,
};

const char *const kspeed_op_names[] = {
	[KSPEED_ENCRYPT] = "encrypt",
	[KSPEED_DECRYPT] = "decrypt",
	[KSPEED_DIGEST] = "digest",
	[KSPEED_SIGN] = "sign",
	[KSPEED_VERIFY] = "verify",
	NULL,
};

static const char *const place_names[] = { "out", "in", NULL };

/* What was written; unset words are settled when all are known. */
struct words {
	const char *type;
	const char *driver;
	const char *mode;
	const char *op;
	const char *place;
	unsigned int size, depth, refill, threads, ms, warmup_ms, key, aad, tag, latency, backlog;
};

struct number_word {
	const char *name;
	size_t offset;
	unsigned int min, max;
};

#define NUMBER(word, least, most) \
	{ .name = #word, .offset = offsetof(struct words, word), .min = least, .max = most }

static const struct number_word numbers[] = {
	NUMBER(size, 1, KSPEED_SIZE_BYTES_MAX),
	NUMBER(depth, 1, KSPEED_DEPTH_MAX),
	NUMBER(refill, 1, KSPEED_DEPTH_MAX),
	NUMBER(threads, 1, KSPEED_THREADS_MAX),
	NUMBER(ms, 1, KSPEED_MS_MAX),
	NUMBER(warmup_ms, 0, KSPEED_MS_MAX),
	NUMBER(key, 0, KSPEED_KEY_BYTES_MAX),
	NUMBER(aad, 0, KSPEED_AAD_BYTES_MAX),
	NUMBER(tag, 0, KSPEED_TAG_BYTES_MAX),
	NUMBER(latency, 0, 1),
	NUMBER(backlog, 0, 1),
};

struct text_word {
	const char *name;
	size_t offset;
};

#define TEXT(word) { .name = #word, .offset = offsetof(struct words, word) }

static const struct text_word texts[] = {
	TEXT(type), TEXT(driver), TEXT(mode), TEXT(op), TEXT(place),
};

static const char known_words[] =
	"type driver mode op place size depth refill threads ms warmup_ms key aad tag latency backlog";

static int repeated(const char *name, struct kspeed_fault *fault)
{
	return kspeed_fault(fault, -EINVAL, "each word once", "leave one of them out",
			    "%s= is written twice", name);
}

static int take_number(const struct number_word *word, struct words *words,
		       const char *value, struct kspeed_fault *fault)
{
	unsigned int *field = (void *)words + word->offset;
	unsigned int number;
	int err;

	if (*field != UNSET)
		return repeated(word->name, fault);
	err = kstrtouint(value, 10, &number);
	if (!err && number >= word->min && number <= word->max) {
		*field = number;
		return 0;
	}
	kspeed_fault(fault, err && err != -ERANGE ? -EINVAL : -ERANGE, "",
		     "choose a number within the limit",
		     "%s=%s is not a number within the limit", word->name, value);
	kspeed_fault_limit(fault, "%u to %u, decimal", word->min, word->max);
	return fault->code;
}

static int take_text(const struct text_word *word, struct words *words, const char *value,
		     struct kspeed_fault *fault)
{
	const char **field = (void *)words + word->offset;

	if (*field)
		return repeated(word->name, fault);
	*field = value;
	return 0;
}

static int take_word(struct words *words, const char *name, const char *value,
		     struct kspeed_fault *fault)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(name, numbers[i].name))
			return take_number(&numbers[i], words, value, fault);
	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(name, texts[i].name))
			return take_text(&texts[i], words, value, fault);
	return kspeed_fault(fault, -EINVAL, known_words, "use one of these words",
			    "\"%s\" is not a word of start", name);
}

static int split(char *line, struct words *words, struct kspeed_fault *fault)
{
	char *word;

	while ((word = strsep(&line, " \t\r\n"))) {
		char *value = strchr(word, '=');
		int err;

		if (!*word)
			continue;
		if (!value || !value[1])
			return kspeed_fault(fault, -EINVAL, "word=value", "give it a value",
					    "\"%s\" has no value", word);
		*value++ = '\0';
		err = take_word(words, word, value, fault);
		if (err)
			return err;
	}
	return 0;
}

static int choose(const char *const *names, const char *word, const char *value,
		  unsigned int *choice, struct kspeed_fault *fault)
{
	size_t used = 0;
	unsigned int i;

	for (i = 0; names[i]; i++)
		if (!strcmp(names[i], value)) {
			*choice = i;
			return 0;
		}
	kspeed_fault(fault, -EINVAL, "", "choose one of these", "%s=%s is not known", word, value);
	for (i = 0; names[i]; i++)
		used += scnprintf(fault->limit + used, sizeof(fault->limit) - used, "%s%s",
				  i ? ", " : "", names[i]);
	return fault->code;
}

static int choose_type(struct kspeed_spec *spec, const char *value, struct kspeed_fault *fault)
{
	const char *names[8] = {};
	unsigned int i;
	int err;

	for (i = 0; kspeed_types[i] && i < ARRAY_SIZE(names) - 1; i++)
		names[i] = kspeed_types[i]->name;
	err = choose(names, "type", value, &i, fault);
	if (!err)
		spec->type = kspeed_types[i];
	return err;
}

static int choose_op(struct kspeed_spec *spec, const char *value, struct kspeed_fault *fault)
{
	const char *names[8] = {};
	unsigned int i, op;
	int err;

	if (!value) {
		spec->op = spec->type->op_default;
		return 0;
	}
	err = choose(kspeed_op_names, "op", value, &op, fault);
	if (err)
		return err;
	if (spec->type->ops & BIT(op)) {
		spec->op = op;
		return 0;
	}
	kspeed_fault(fault, -EINVAL, "", "choose one of these", "%s cannot %s",
		     spec->type->name, value);
	for (i = 0, op = 0; kspeed_op_names[op]; op++)
		if (spec->type->ops & BIT(op))
			names[i++] = kspeed_op_names[op];
	kspeed_fault_limit(fault, "%s%s%s%s%s%s%s", names[0], names[1] ? ", " : "",
			   names[1] ?: "", names[2] ? ", " : "", names[2] ?: "",
			   names[3] ? ", " : "", names[3] ?: "");
	return fault->code;
}

static int choose_driver(struct kspeed_spec *spec, const char *value,
			 struct kspeed_fault *fault)
{
	if (strscpy(spec->driver, value, sizeof(spec->driver)) >= 0)
		return 0;
	kspeed_fault(fault, -ENAMETOOLONG, "", "use the driver's name in /proc/crypto",
		     "the driver's name has %zu bytes", strlen(value));
	kspeed_fault_limit(fault, "%zu bytes", sizeof(spec->driver) - 1);
	return fault->code;
}

static int choose_mode(struct kspeed_spec *spec, const char *value, unsigned int depth,
		       struct kspeed_fault *fault)
{
	unsigned int mode = KSPEED_ASYNC;
	int err = value ? choose(kspeed_mode_names, "mode", value, &mode, fault) : 0;

	if (err)
		return err;
	spec->mode = mode;
	if (mode != KSPEED_SYNC) {
		spec->depth = depth == UNSET ? 16 : depth;
		return 0;
	}
	if (depth != UNSET && depth != 1)
		return kspeed_fault(fault, -EINVAL, "1", "leave depth out, or choose another mode",
				    "depth=%u: mode=sync keeps one request in flight", depth);
	spec->depth = 1;
	return 0;
}

/* By default half stays with the driver while the other half is renewed. */
static int choose_refill(struct kspeed_spec *spec, unsigned int refill,
			 struct kspeed_fault *fault)
{
	if (refill == UNSET) {
		spec->refill = max(spec->depth / 2, 1u);
		return 0;
	}
	if (spec->mode == KSPEED_ASYNC && refill <= spec->depth) {
		spec->refill = refill;
		return 0;
	}
	kspeed_fault(fault, -EINVAL, "", "leave refill out",
		     "refill=%u does not suit mode=%s depth=%u", refill,
		     kspeed_mode_names[spec->mode], spec->depth);
	kspeed_fault_limit(fault, "mode=async, and at most depth");
	return -EINVAL;
}

static int choose_place(struct kspeed_spec *spec, const char *value,
			struct kspeed_fault *fault)
{
	int err = value ? choose(place_names, "place", value, &spec->in_place, fault) : 0;

	if (err || !spec->in_place || spec->type->in_place_ops & BIT(spec->op))
		return err;
	return kspeed_fault(fault, -EINVAL, "place=out", "leave place out",
			    "type=%s op=%s cannot run in place again and again",
			    spec->type->name, kspeed_op_names[spec->op]);
}

static int require(const char *value, const char *word, struct kspeed_fault *fault)
{
	if (value)
		return 0;
	return kspeed_fault(fault, -EINVAL, "type and driver are required", "add it",
			    "%s= is missing", word);
}

static unsigned int settle(unsigned int number, unsigned int otherwise)
{
	return number == UNSET ? otherwise : number;
}

static int resolve(const struct words *words, struct kspeed_spec *spec,
		   struct kspeed_fault *fault)
{
	int err = require(words->type, "type", fault);

	err = err ?: require(words->driver, "driver", fault);
	err = err ?: choose_type(spec, words->type, fault);
	err = err ?: choose_driver(spec, words->driver, fault);
	err = err ?: choose_op(spec, words->op, fault);
	err = err ?: choose_mode(spec, words->mode, words->depth, fault);
	err = err ?: choose_refill(spec, words->refill, fault);
	err = err ?: choose_place(spec, words->place, fault);
	if (err)
		return err;
	spec->thread_count = settle(words->threads, 1);
	spec->ms = settle(words->ms, 200);
	spec->warmup_ms = settle(words->warmup_ms, 20);
	spec->latency = settle(words->latency, 1);
	spec->backlog = settle(words->backlog, 1);
	spec->size_bytes = settle(words->size, spec->type->size_bytes_default);
	spec->key_bytes = settle(words->key, spec->type->key_bytes_default);
	spec->aad_bytes = settle(words->aad, spec->type->aad_bytes_default);
	spec->tag_bytes = settle(words->tag, spec->type->tag_bytes_default);
	if (spec->type->tag_bytes_default || (!spec->aad_bytes && !spec->tag_bytes))
		return 0;
	return kspeed_fault(fault, -EINVAL, "type=aead", "leave aad and tag out",
			    "type=%s has no associated data and no tag", spec->type->name);
}

static int start(char *line, struct kspeed_fault *fault)
{
	struct words words = {};
	struct kspeed_spec spec = {};
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		*(unsigned int *)((void *)&words + numbers[i].offset) = UNSET;
	err = split(line, &words, fault);
	err = err ?: resolve(&words, &spec, fault);
	return err ?: kspeed_run_start(&spec, fault);
}

int kspeed_control_start(char *words)
{
	struct kspeed_fault fault = {};
	int err = start(words, &fault);

	if (err)
		kspeed_run_refuse(&fault);
	return err;
}

int kspeed_control_too_long(unsigned long bytes)
{
	struct kspeed_fault fault = {};

	kspeed_fault(&fault, -E2BIG, "", "write a shorter line", "the line has %lu bytes", bytes);
	kspeed_fault_limit(&fault, "%u bytes", KSPEED_LINE_BYTES_MAX);
	kspeed_run_refuse(&fault);
	return fault.code;
}

int kspeed_control_not_text(void)
{
	struct kspeed_fault fault = {};

	kspeed_fault(&fault, -EINVAL, "text", "write a line of text",
		     "the line contains a zero byte");
	kspeed_run_refuse(&fault);
	return fault.code;
}

static int unknown_command(const char *word)
{
	struct kspeed_fault fault = {};

	kspeed_fault(&fault, -EINVAL, "start or stop", "write one of these",
		     "\"%s\" is not known", word);
	kspeed_run_refuse(&fault);
	return fault.code;
}

int kspeed_control(char *line)
{
	char *rest = strim(line);
	char *word = strsep(&rest, " \t\r\n");

	if (!strcmp(word, "start"))
		return kspeed_control_start(rest ?: word + strlen(word));
	if (strcmp(word, "stop") || rest)
		return unknown_command(rest ? rest : word);
	kspeed_run_stop();
	return 0;
}
