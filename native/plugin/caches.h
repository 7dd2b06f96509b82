/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set-associative memory of lines: a cache, or with pages for lines a TLB. It knows no QEMU, so that a
 * program of the host's can be made of it and compared with a second model (tests/unit/test_caches.py).
 *
 * Lines are named by a number: a physical address divided by the size of a line. Which one is thrown out
 * depends on nothing but the lines that were asked for, also where it is drawn by lot.
 */
#ifndef BOOTSCOPE_CACHES_H
#define BOOTSCOPE_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#define BS_NO_LINE UINT64_MAX
#define BS_NO_SLOT UINT32_MAX

enum bs_policy { BS_LRU, BS_RANDOM, BS_ROUND_ROBIN };

struct bs_cache {
	uint32_t sets, ways, line_shift;
	enum bs_policy policy;
	bool write_allocate;
	uint64_t *tag; /* the line in each slot; the ways of a set are neighbours */
	uint64_t *used; /* when, for BS_LRU */
	uint32_t *next; /* the way of each set to be thrown out, for BS_ROUND_ROBIN */
	bool *dirty;
	uint64_t stamp, lot;
};

/* False for a size that such lines and ways cannot make, or when there is no memory. */
bool bs_cache_make(struct bs_cache *c, uint64_t size, uint32_t ways, uint32_t line_bytes,
		   enum bs_policy policy, bool write_allocate);

/* The slot that holds the line, which counts as a use of it; BS_NO_SLOT when none does. */
uint32_t bs_cache_find(struct bs_cache *c, uint64_t line);

/* Puts a line that is not there into a slot. *victim: a dirty line that was thrown out, or BS_NO_LINE. */
uint32_t bs_cache_put(struct bs_cache *c, uint64_t line, bool dirty, uint64_t *victim);

/* A use of what is in a slot, known without looking. */
static inline void bs_cache_use(struct bs_cache *c, uint32_t slot)
{
	if (c->policy == BS_LRU)
		c->used[slot] = ++c->stamp;
}

/* Throws everything out; returns how many lines were dirty. */
uint64_t bs_cache_empty(struct bs_cache *c);

#endif
