// SPDX-License-Identifier: GPL-2.0-or-later
#include "config_space.h"

#include <stddef.h>

#define PAGE_SHIFT 12
#define SLOTS 4096u
#define MOST (SLOTS / 4 * 3)

static struct {
	uint64_t page; /* number of a page plus 1; 0 for an empty slot */
	bool is;
} pages[SLOTS];
static size_t used;

static size_t slot_of(uint64_t vaddr)
{
	uint64_t page = (vaddr >> PAGE_SHIFT) + 1;
	size_t at = page * 0x9e3779b97f4a7c15u >> 52;

	while (pages[at].page && pages[at].page != page)
		at = (at + 1) % SLOTS;
	return at;
}

bool bs_config_page(uint64_t vaddr)
{
	return used && pages[slot_of(vaddr)].is;
}

void bs_config_note(uint64_t vaddr, bool is)
{
	if (!is && !used)
		return;
	size_t at = slot_of(vaddr);
	if (!pages[at].page) {
		if (!is || used == MOST)
			return;
		pages[at].page = (vaddr >> PAGE_SHIFT) + 1;
		used++;
	}
	pages[at].is = is;
}
