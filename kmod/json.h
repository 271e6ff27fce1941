/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KSPEED_JSON_H
#define KSPEED_JSON_H

struct kspeed_fault;
struct seq_file;

/* A quoted string; whatever is not printable ASCII is escaped. */
void kspeed_json_string(struct seq_file *file, const char *text);
/* {"code":…,"name":…,"what":…,"limit":…,"remedy":…} */
void kspeed_json_fault(struct seq_file *file, const struct kspeed_fault *fault);

#endif
