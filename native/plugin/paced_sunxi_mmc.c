// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_kinds.h"

enum reg { SIZE = 0x14, COMMAND = 0x18, STATE = 0x38, WORDS = 0x100 };

#define BEGINS (1u << 31 | 1u << 9) /* of COMMAND: now, and with data */

static uint64_t size;

static void stored(uint64_t offset, uint64_t value)
{
	if (offset == SIZE)
		size = value;
	else if (offset == COMMAND && (value & BEGINS) == BEGINS)
		bs_card_begin(size, 0);
}

bool bs_paced_sunxi_mmc_start(const struct bs_paced *p)
{
	static const struct bs_card_kind kind = {STATE, WORDS, stored};

	return bs_paced_card_start(p, &kind);
}
