/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hands every frame to the kernel. A port with it has its NAPI on, so that
 * frames redirected to its peer arrive.
 */
#include "kernel.h"

SEC("xdp")
int pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
