// SPDX-License-Identifier: GPL-2.0-or-later
#include "caches.h"

#include <stdlib.h>

#define SEED 0x2545f4914f6cdd1du

static uint32_t shift_of(uint64_t power)
{
	uint32_t shift = 0;

	while (power >> shift > 1)
		shift++;
	return power == (uint64_t)1 << shift ? shift : UINT32_MAX;
}

bool bs_cache_make(struct bs_cache *c, uint64_t size, uint32_t ways, uint32_t line_bytes,
		   enum bs_policy policy, bool write_allocate)
{
	if (!ways || !line_bytes || !size || size % ((uint64_t)ways * line_bytes))
		return false;
	uint64_t sets = size / ways / line_bytes;
	if (shift_of(line_bytes) == UINT32_MAX || shift_of(sets) == UINT32_MAX || sets * ways > UINT32_MAX / 2)
		return false;
	*c = (struct bs_cache){.sets = (uint32_t)sets, .ways = ways, .line_shift = shift_of(line_bytes),
			       .policy = policy, .write_allocate = write_allocate, .lot = SEED};
	c->tag = calloc(sets * ways, sizeof(*c->tag));
	c->used = calloc(sets * ways, sizeof(*c->used));
	c->dirty = calloc(sets * ways, sizeof(*c->dirty));
	c->next = calloc(sets, sizeof(*c->next));
	if (!c->tag || !c->used || !c->dirty || !c->next)
		return false;
	bs_cache_empty(c);
	return true;
}

static uint32_t first_of(const struct bs_cache *c, uint64_t line)
{
	return (uint32_t)(line & (c->sets - 1)) * c->ways;
}

uint32_t bs_cache_find(struct bs_cache *c, uint64_t line)
{
	uint32_t first = first_of(c, line);

	for (uint32_t slot = first; slot < first + c->ways; slot++)
		if (c->tag[slot] == line) {
			bs_cache_use(c, slot);
			return slot;
		}
	return BS_NO_SLOT;
}

/* A number below n. By xorshift: the same row of numbers on every host. */
static uint32_t draw(struct bs_cache *c, uint32_t n)
{
	c->lot ^= c->lot << 13;
	c->lot ^= c->lot >> 7;
	c->lot ^= c->lot << 17;
	return (uint32_t)((c->lot >> 32) % n);
}

static uint32_t oldest(const struct bs_cache *c, uint32_t first)
{
	uint32_t found = first;

	for (uint32_t slot = first; slot < first + c->ways; slot++)
		if (c->used[slot] < c->used[found])
			found = slot;
	return found;
}

/* The slot to be filled: a free one, else as the policy says. */
static uint32_t choose(struct bs_cache *c, uint64_t line)
{
	uint32_t first = first_of(c, line), set = first / c->ways, way;

	for (uint32_t slot = first; slot < first + c->ways; slot++)
		if (c->tag[slot] == BS_NO_LINE)
			return slot;
	switch (c->policy) {
	case BS_LRU:
		return oldest(c, first);
	case BS_RANDOM:
		return first + draw(c, c->ways);
	default:
		way = c->next[set];
		c->next[set] = (way + 1) % c->ways;
		return first + way;
	}
}

uint32_t bs_cache_put(struct bs_cache *c, uint64_t line, bool dirty, uint64_t *victim)
{
	uint32_t slot = choose(c, line);

	*victim = c->tag[slot] != BS_NO_LINE && c->dirty[slot] ? c->tag[slot] : BS_NO_LINE;
	c->tag[slot] = line;
	c->dirty[slot] = dirty;
	bs_cache_use(c, slot);
	return slot;
}

uint64_t bs_cache_empty(struct bs_cache *c)
{
	uint64_t dirty = 0;

	for (uint32_t slot = 0; slot < c->sets * c->ways; slot++) {
		dirty += c->tag[slot] != BS_NO_LINE && c->dirty[slot];
		c->tag[slot] = BS_NO_LINE;
		c->dirty[slot] = false;
		c->used[slot] = 0;
	}
	return dirty;
}
