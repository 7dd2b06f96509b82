/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a callback stands: kept for as long as QEMU may run the block. */
#ifndef BOOTSCOPE_PLACE_H
#define BOOTSCOPE_PLACE_H

#include "watch.h"

struct bs_place {
	uint64_t vaddr;
	uint32_t rest; /* instructions of the block from here on */
	struct bs_hook *hook;
};

struct bs_place *bs_place_new(uint64_t vaddr, size_t rest, struct bs_hook *hook);

#endif
