// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>

#include "fault.h"
#include "json.h"

void kspeed_json_string(struct seq_file *file, const char *text)
{
	seq_putc(file, '"');
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			seq_printf(file, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			seq_printf(file, "\\u%04x", c);
		else
			seq_putc(file, c);
	}
	seq_putc(file, '"');
}

void kspeed_json_fault(struct seq_file *file, const struct kspeed_fault *fault)
{
	char name[24];

	/* %pe writes "-ENOENT"; the sign already stands in the code. */
	scnprintf(name, sizeof(name), "%pe", ERR_PTR(fault->code));
	seq_printf(file, "{\"code\":%d,\"name\":", fault->code);
	kspeed_json_string(file, name[0] == '-' ? name + 1 : name);
	seq_puts(file, ",\"what\":");
	kspeed_json_string(file, fault->what);
	seq_puts(file, ",\"limit\":");
	kspeed_json_string(file, fault->limit);
	seq_puts(file, ",\"remedy\":");
	kspeed_json_string(file, fault->remedy);
	seq_putc(file, '}');
}
