// SPDX-License-Identifier: GPL-2.0-or-later
#include "hierarchy.h"

static uint64_t nobody[BS_COUNTS];
static const int64_t nothing[BS_COUNTS];

void bs_hierarchy_start(struct bs_hierarchy *h, const int64_t *event_ps)
{
	h->own = nobody;
	h->event_ps = event_ps ? event_ps : nothing;
	h->last_read = BS_NO_LINE;
	for (uint32_t i = 0; i < BS_WRITE_BUFFER; i++)
		h->buffered[i] = BS_NO_LINE;
}

static void written(struct bs_hierarchy *h, uint64_t victim)
{
	if (victim != BS_NO_LINE)
		bs_count(h, BS_WRITTEN);
}

/* A line that the first cache, with lines of `shift`, does not have: from the second, or from memory. */
static bool from_second(struct bs_hierarchy *h, uint64_t line, uint32_t shift, bool dirty)
{
	uint64_t victim;

	if (!h->has_second || !h->caches_data)
		return false;
	line = line << shift >> h->second.line_shift;
	uint32_t slot = bs_cache_find(&h->second, line);
	if (slot != BS_NO_SLOT) {
		h->second.dirty[slot] |= dirty;
		return true;
	}
	bs_cache_put(&h->second, line, dirty, &victim);
	written(h, victim);
	return false;
}

static void write_back(struct bs_hierarchy *h, uint64_t line)
{
	uint64_t victim;

	if (line == BS_NO_LINE)
		return;
	if (!h->has_second) {
		bs_count(h, BS_WRITTEN);
		return;
	}
	line = line << h->data.line_shift >> h->second.line_shift;
	uint32_t slot = bs_cache_find(&h->second, line);
	if (slot != BS_NO_SLOT) {
		h->second.dirty[slot] = true;
		return;
	}
	bs_cache_put(&h->second, line, true, &victim);
	written(h, victim);
}

void bs_hierarchy_switch(struct bs_hierarchy *h, bool data, bool code, bool translates)
{
	uint64_t dirty = 0;

	if (h->caches_data && !data) {
		dirty = bs_cache_empty(&h->data);
		if (h->has_second)
			dirty += bs_cache_empty(&h->second);
	}
	if (h->caches_code && !code)
		bs_cache_empty(&h->code);
	bs_count_more(h, BS_WRITTEN, dirty);
	h->caches_data = data;
	h->caches_code = code;
	h->translates = translates;
}

uint32_t bs_hierarchy_load(struct bs_hierarchy *h, uint64_t address)
{
	uint64_t line = address >> h->data.line_shift, victim;
	uint32_t slot = bs_cache_find(&h->data, line);

	if (slot != BS_NO_SLOT)
		return slot;
	if (from_second(h, line, h->data.line_shift, false)) {
		bs_count(h, BS_LOAD_L2);
	} else {
		bs_count(h, BS_LOAD_MEMORY);
		if (h->last_read != BS_NO_LINE && line == h->last_read + 1)
			bs_count(h, BS_LOAD_STREAM);
		h->last_read = line;
	}
	slot = bs_cache_put(&h->data, line, false, &victim);
	write_back(h, victim);
	return slot;
}

/* Whether the write buffer has a line; it has from now on. Runs of stores to a line are one. */
static bool is_buffered(struct bs_hierarchy *h, uint64_t line)
{
	for (uint32_t i = 0; i < BS_WRITE_BUFFER; i++)
		if (h->buffered[i] == line)
			return true;
	h->buffered[h->next_buffered] = line;
	h->next_buffered = (h->next_buffered + 1) % BS_WRITE_BUFFER;
	return false;
}

void bs_hierarchy_combine(struct bs_hierarchy *h, uint64_t address)
{
	if (!is_buffered(h, address >> h->data.line_shift))
		bs_count(h, BS_WRITTEN);
}

/* A store that goes past the first cache. */
static void pass_by(struct bs_hierarchy *h, uint64_t line, bool allocates)
{
	if (is_buffered(h, line))
		return;
	if (!h->has_second) {
		bs_count(h, BS_WRITTEN);
		return;
	}
	uint64_t behind = line << h->data.line_shift >> h->second.line_shift;
	uint32_t slot = bs_cache_find(&h->second, behind);
	if (slot != BS_NO_SLOT) {
		h->second.dirty[slot] = true;
		bs_count(h, BS_STORE_L2);
	} else if (h->second.write_allocate && allocates) {
		uint64_t victim;

		bs_count(h, BS_STORE_FILL);
		bs_cache_put(&h->second, behind, true, &victim);
		written(h, victim);
	} else {
		bs_count(h, BS_WRITTEN);
	}
}

uint32_t bs_hierarchy_store(struct bs_hierarchy *h, uint64_t address, bool allocates)
{
	uint64_t line = address >> h->data.line_shift, victim;
	uint32_t slot = bs_cache_find(&h->data, line);

	if (slot != BS_NO_SLOT) {
		h->data.dirty[slot] = true;
		return slot;
	}
	if (!h->data.write_allocate || !allocates) {
		pass_by(h, line, allocates);
		return BS_NO_SLOT;
	}
	bs_count(h, from_second(h, line, h->data.line_shift, false) ? BS_STORE_L2 : BS_STORE_FILL);
	slot = bs_cache_put(&h->data, line, true, &victim);
	write_back(h, victim);
	return slot;
}

uint32_t bs_hierarchy_fetch(struct bs_hierarchy *h, uint64_t address)
{
	uint64_t line = address >> h->code.line_shift, victim;
	uint32_t slot = bs_cache_find(&h->code, line);

	if (slot != BS_NO_SLOT)
		return slot;
	bs_count(h, from_second(h, line, h->code.line_shift, false) ? BS_FETCH_L2 : BS_FETCH_MEMORY);
	return bs_cache_put(&h->code, line, false, &victim);
}

uint32_t bs_hierarchy_page(struct bs_hierarchy *h, uint64_t page, bool code)
{
	struct bs_cache *tlb = code && !h->one_tlb ? &h->code_tlb : &h->data_tlb;
	uint32_t slot = bs_cache_find(tlb, page);
	uint64_t victim;

	if (slot != BS_NO_SLOT)
		return slot;
	bs_count(h, code ? BS_WALK_CODE : BS_WALK_DATA);
	return bs_cache_put(tlb, page, false, &victim);
}
