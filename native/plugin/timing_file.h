/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of the counting pass, put together while it runs; timing.h says what is in it. */
#ifndef BOOTSCOPE_TIMING_FILE_H
#define BOOTSCOPE_TIMING_FILE_H

#include <stddef.h>

#include "hierarchy.h"

/* A block of instructions and what was counted in it since the part began. */
struct bs_counted {
	uint64_t vaddr;
	uintptr_t page; /* two programs may have the same address, but not the same memory */
	int64_t first_ns;
	uint64_t insns;
	bool used;
	uint64_t own[BS_COUNTS];
};

/* False when there is no memory. A new part begins with each of these events. */
bool bs_timing_file_init(const uint64_t *parts, size_t n);

/* The block, new or not. Those for which there is no room are one. */
struct bs_counted *bs_timing_file_block(uint64_t vaddr, uintptr_t page, int64_t now_ns);

/* The next event; `exact`: what was counted up to it is noted for it. */
void bs_timing_file_event(const uint64_t counts[BS_COUNTS], bool exact);
void bs_timing_file_sample(const uint64_t counts[BS_COUNTS]);

/* The part that is under way, from 0. */
size_t bs_timing_file_part(void);

void bs_timing_file_write(const char *path);

#endif
