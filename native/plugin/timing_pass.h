/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both sides of the counting pass share, data and code; timing.h says what the pass is. */
#ifndef BOOTSCOPE_TIMING_PASS_H
#define BOOTSCOPE_TIMING_PASS_H

#include "control.h"
#include "hierarchy.h"
#include "watch.h"

struct bs_pass {
	const struct bs_timing *watch; /* NULL: nothing is counted */
	struct bs_hierarchy h;
	const struct bs_control *control;
	uint64_t serial; /* of the block that runs, among all that have run */
};

/* Hidden, so that each access to it, several for each of the guest's, is by the place of the code. */
extern struct bs_pass bs_pass __attribute__((visibility("hidden")));

static inline bool bs_in_ranges(const struct bs_range *ranges, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (address >= ranges[i].start && address < ranges[i].end)
			return true;
	return false;
}

/* The page of an address, told apart from others of the same address in other address spaces. */
static inline uint64_t bs_page_of(const struct bs_timing *watch, uint64_t vaddr, uint64_t physical)
{
	bool large = vaddr == physical || bs_in_ranges(watch->large, watch->n_large, vaddr);
	uint32_t shift = large && watch->large_shift ? watch->large_shift : 12;

	return (vaddr >> shift & 0xffffffffff) | (physical >> shift & 0x7fffff) << 40 | (uint64_t)large << 63;
}

#endif
