/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Internet checksum (RFC 1071). Sums are of 16-bit words as they lie in
 * memory: the sum does not depend on the byte order (section 2, B).
 */
#ifndef LOCKGATE_CHECKSUM_H
#define LOCKGATE_CHECKSUM_H

#include "kernel.h"

/* To 16 bits; `sum` must be below 2^48. */
INLINE u16 checksum_fold(u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

INLINE u64 checksum_of_32(u32 word)
{
	return (word & 0xffff) + (word >> 16);
}

INLINE u64 checksum_of_64(u64 word)
{
	return checksum_of_32(word) + checksum_of_32(word >> 32);
}

#endif
