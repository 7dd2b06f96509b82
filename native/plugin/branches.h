/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A core's branch prediction, as simple as it can be: a table of two-bit counters looked up by the branch and
 * the last directions, a table of targets, a stack of return addresses. It knows no QEMU (see caches.h).
 */
#ifndef BOOTSCOPE_BRANCHES_H
#define BOOTSCOPE_BRANCHES_H

#include <stdbool.h>
#include <stdint.h>

#define BS_MAX_RETURNS 64

/* The end of a block of instructions, for as long as it may run. */
struct bs_branch {
	uint64_t address, behind; /* of its last instruction, and of the one after that */
	uint64_t to;		  /* where it went when it was last taken */
	bool call, ever_taken;
};

struct bs_branches {
	uint32_t counters, targets, history_bits, returns; /* sizes; no counters: nothing is predicted */
	uint8_t *counter;
	uint64_t *target; /* the branch that each entry is of */
	uint64_t stack[BS_MAX_RETURNS];
	uint32_t depth, history;
};

/* False for sizes that are no powers of two, or when there is no memory. */
bool bs_branches_make(struct bs_branches *b, uint32_t counters, uint32_t history_bits, uint32_t targets,
		      uint32_t returns);

/* A branch went to `next`. Sets *taken; returns whether it was foreseen. */
bool bs_branches_went(struct bs_branches *b, struct bs_branch *from, uint64_t next, bool *taken);

#endif
