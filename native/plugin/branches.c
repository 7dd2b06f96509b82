// SPDX-License-Identifier: GPL-2.0-or-later
#include "branches.h"

#include <stdlib.h>

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

bool bs_branches_make(struct bs_branches *b, uint32_t counters, uint32_t history_bits, uint32_t targets,
		      uint32_t returns)
{
	*b = (struct bs_branches){.counters = counters, .targets = targets, .history_bits = history_bits,
				  .returns = returns};
	if (!counters)
		return true;
	if (!is_power(counters) || !is_power(targets) || history_bits > 20 || returns > BS_MAX_RETURNS)
		return false;
	b->counter = malloc(counters);
	b->target = calloc(targets, sizeof(*b->target));
	if (!b->counter || !b->target)
		return false;
	/* Weakly not taken, as after a reset. */
	for (uint32_t i = 0; i < counters; i++)
		b->counter[i] = 1;
	return true;
}

static void push(struct bs_branches *b, uint64_t address)
{
	if (b->returns)
		b->stack[b->depth++ % b->returns] = address;
}

static bool pop(struct bs_branches *b, uint64_t address)
{
	if (!b->depth || b->stack[(b->depth - 1) % b->returns] != address)
		return false;
	b->depth--;
	return true;
}

/* Whether the table of targets had the branch with where it goes; it has from now on. */
static bool target_known(struct bs_branches *b, const struct bs_branch *from, uint64_t next)
{
	uint64_t *entry = &b->target[(from->address >> 1) & (b->targets - 1)];
	bool known = *entry == from->address && from->to == next;

	*entry = from->address;
	return known;
}

static bool direction_known(struct bs_branches *b, const struct bs_branch *from, bool taken)
{
	uint32_t at = ((uint32_t)(from->address >> 1) ^ b->history) & (b->counters - 1);
	bool foreseen = (b->counter[at] > 1) == taken;

	if (taken && b->counter[at] < 3)
		b->counter[at]++;
	if (!taken && b->counter[at])
		b->counter[at]--;
	b->history = (b->history << 1 | taken) & ((1u << b->history_bits) - 1);
	return foreseen;
}

bool bs_branches_went(struct bs_branches *b, struct bs_branch *from, uint64_t next, bool *taken)
{
	bool known = true;

	*taken = next != from->behind;
	if (!*taken && !from->ever_taken)
		return true; /* a block that ends without a branch, as far as is known */
	if (!b->counters) {
		known = !*taken;
	} else if (from->call && *taken) {
		push(b, from->behind);
		known = target_known(b, from, next);
	} else if (!*taken || !pop(b, next)) {
		known = direction_known(b, from, *taken);
		if (*taken && !target_known(b, from, next))
			known = false;
	}
	if (*taken) {
		from->to = next;
		from->ever_taken = true;
	}
	return known;
}
