// SPDX-License-Identifier: GPL-2.0-or-later
#include "place.h"

#include <stdlib.h>

struct bs_place *bs_place_new(uint64_t vaddr, size_t rest, struct bs_hook *hook)
{
	static struct bs_place *block;
	static size_t left;

	if (!left) {
		left = 4096;
		block = calloc(left, sizeof(*block));
		if (!block)
			abort();
	}
	struct bs_place *p = &block[--left];
	*p = (struct bs_place){.vaddr = vaddr, .rest = (uint32_t)rest, .hook = hook};
	return p;
}
