/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The caches of a core one behind the other, its TLBs and its memory: what an access has to wait for is
 * counted, and nothing else is known of it. How long each of that takes is a matter of whoever reads the
 * counts. It knows no QEMU (see caches.h).
 *
 * Left out: prefetchers, what walks find in caches, and caches being cleaned line by line by the software.
 */
#ifndef BOOTSCOPE_HIERARCHY_H
#define BOOTSCOPE_HIERARCHY_H

#include "caches.h"

enum bs_count {
	BS_LOADS,	  /* data accesses */
	BS_STORES,
	BS_FETCHES,	  /* lines of code that execution came to */
	BS_FETCH_L2,	  /* of these: not in L1, but in L2 */
	BS_FETCH_MEMORY,  /* in no cache */
	BS_LOAD_L2,
	BS_LOAD_MEMORY,
	BS_LOAD_STREAM,	  /* those of BS_LOAD_MEMORY whose line follows the one read before */
	BS_STORE_L2,	  /* stores of lines that are not in L1, but in L2 */
	BS_STORE_FILL,	  /* lines that a store brings into the last cache */
	BS_WRITTEN,	  /* lines that go back to memory, or runs of stores that pass by all caches */
	BS_WALK_CODE,	  /* walks through page tables */
	BS_WALK_DATA,
	BS_UNCACHED_FETCH, /* with caches off, or outside of what they hold: blocks of 32 bytes */
	BS_UNCACHED_LOAD, /* runs of accesses that one instruction makes */
	BS_UNCACHED_STORE,
	BS_SRAM,	  /* accesses to memory inside the chip, not cached: code by blocks of 32 bytes */
	BS_DEVICE_LOAD,
	BS_DEVICE_STORE,
	BS_TAKEN,	  /* branches */
	BS_MISPREDICTED,
	BS_POLLED_NS,	  /* virtual time in loops that ask a device, or a clock of the CPU, again and again */
	BS_SPLIT_LOAD,	  /* accesses across a boundary that the core reads or writes up to in one go */
	BS_SPLIT_STORE,
	/* By what blocks of instructions hold (classes.h): */
	BS_MULTIPLY,
	BS_DIVIDE,
	BS_SHIFT,	  /* by a register */
	BS_SCALED,	  /* loads and stores whose offset is a register that is shifted */
	BS_MORE_REGISTERS, /* beyond the first of an instruction that loads or stores many */
	BS_LOAD_USE,	  /* words that the very next instruction uses */
	BS_NARROW_USE,	  /* bytes and half words: 2 for one that the next uses, 1 for the next but one */
	BS_COUNTS,
};

#define BS_CLASSES BS_MULTIPLY /* the first of these */
#define BS_N_CLASSES (BS_COUNTS - BS_CLASSES)

#define BS_WRITE_BUFFER 4

struct bs_hierarchy {
	struct bs_cache code, data, second, code_tlb, data_tlb;
	bool has_second, one_tlb; /* one_tlb: both sides use data_tlb */
	bool caches_data, caches_code, translates; /* as the software has switched them */
	uint64_t counts[BS_COUNTS];
	uint64_t *own; /* counted here as well, while it lasts; never NULL */
	const int64_t *event_ps; /* what each event costs; never NULL */
	int64_t waited_ps; /* what all of them have cost so far */
	uint64_t buffered[BS_WRITE_BUFFER]; /* lines on their way past L1 */
	uint32_t next_buffered;
	uint64_t last_read;
};

/*
 * Once the caches are made: nothing is in them, all is switched off. `event_ps`: what each kind of event
 * costs, or NULL where nobody asks before the end.
 */
void bs_hierarchy_start(struct bs_hierarchy *h, const int64_t *event_ps);

static inline void bs_count_more(struct bs_hierarchy *h, enum bs_count what, uint64_t more)
{
	h->counts[what] += more;
	h->own[what] += more;
	h->waited_ps += h->event_ps[what] * (int64_t)more;
}

static inline void bs_count(struct bs_hierarchy *h, enum bs_count what)
{
	bs_count_more(h, what, 1);
}

/* What the software switches. Caches that go off are written back and empty. */
void bs_hierarchy_switch(struct bs_hierarchy *h, bool data, bool code, bool translates);

/* Accesses by physical address that may be cached. Each returns the slot of L1, or BS_NO_SLOT. */
uint32_t bs_hierarchy_load(struct bs_hierarchy *h, uint64_t address);
/* `allocates`: whether the software has memory there brought in by stores, where a cache does so at all. */
uint32_t bs_hierarchy_store(struct bs_hierarchy *h, uint64_t address, bool allocates);
uint32_t bs_hierarchy_fetch(struct bs_hierarchy *h, uint64_t address);

/* A store that no cache holds, but the write buffer combines with others to the same line. */
void bs_hierarchy_combine(struct bs_hierarchy *h, uint64_t address);

/* The page of an access: a walk unless its TLB has it. Returns the slot. */
uint32_t bs_hierarchy_page(struct bs_hierarchy *h, uint64_t page, bool code);

#endif
