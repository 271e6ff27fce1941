/* SPDX-License-Identifier: GPL-2.0-only */
/* Are the results right? A driver that returns rubbish fast is an error. */
#ifndef KSPEED_VERIFY_H
#define KSPEED_VERIFY_H

struct kspeed_fault;
struct kspeed_report;
struct kspeed_run;

/*
 * Compares what the last request of up to KSPEED_VERIFY_SLOTS_MAX slots left
 * behind with what another driver makes of the same input. In place there is
 * nothing left of the input: those slots run once more.
 */
#define KSPEED_VERIFY_SLOTS_MAX	32
int kspeed_verify(struct kspeed_run *run, struct kspeed_report *report,
		  struct kspeed_fault *fault);

#endif
