/* SPDX-License-Identifier: GPL-2.0-only */
/* The line people write: "start type=… driver=… …" or "stop". */
#ifndef KSPEED_CONTROL_H
#define KSPEED_CONTROL_H

#define KSPEED_LINE_BYTES_MAX	512

/* Cuts @line to pieces. 0, or the negative errno that stands in the result. */
int kspeed_control(char *line);
/* The same for the words after "start". */
int kspeed_control_start(char *words);
/* For lines that cannot be cut to pieces. */
int kspeed_control_too_long(unsigned long bytes);
int kspeed_control_not_text(void);

#endif
