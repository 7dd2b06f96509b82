/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What has been recorded before, for hooks that report each set of values once. */
#ifndef BOOTSCOPE_SEEN_H
#define BOOTSCOPE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether these bytes were not added before; from then on they were. Kept as 64-bit hashes: among a
 * million of them, two that are the same by chance are less likely than 1 in 30 million. When the
 * table is full everything counts as new.
 */
bool bs_seen_add(const uint8_t *bytes, size_t size);

#endif
