// SPDX-License-Identifier: GPL-2.0-or-later
#include "seen.h"

#include <stdlib.h>

#define SLOTS (1u << 20)
#define MOST (SLOTS / 4 * 3)

/* FNV-1a, with 0 kept for an empty slot. */
static uint64_t hash(const uint8_t *bytes, size_t size)
{
	uint64_t value = 14695981039346656037u;

	for (size_t i = 0; i < size; i++)
		value = (value ^ bytes[i]) * 1099511628211u;
	return value ? value : 1;
}

bool bs_seen_add(const uint8_t *bytes, size_t size)
{
	static uint64_t *slots;
	static size_t used;
	uint64_t wanted = hash(bytes, size);

	if (!slots)
		slots = calloc(SLOTS, sizeof(*slots));
	if (!slots)
		return true;
	size_t at = wanted % SLOTS;
	while (slots[at] && slots[at] != wanted)
		at = (at + 1) % SLOTS;
	if (slots[at])
		return false;
	if (used < MOST) {
		slots[at] = wanted;
		used++;
	}
	return true;
}
