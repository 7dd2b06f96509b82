// SPDX-License-Identifier: GPL-2.0-or-later
#include "paced_kinds.h"

enum reg { BLOCK_SIZE = 0x04, BLOCKS = 0x06, MODE = 0x0c, COMMAND = 0x0e, WORDS = 0x20, STATE = 0x30, MIX_CTRL = 0x48 };

#define BLOCK_BITS 0xfff
#define DMA 1 /* of the mode: the controller stores the data in memory itself */
#define SEVERAL (1 << 5)
#define DATA (1 << 5) /* of COMMAND */

static struct {
	bool has_mix_ctrl; /* a register of its own holds the mode: NXP's */
	uint64_t block_bytes, blocks, mode;
} card;

static void command(uint64_t value)
{
	uint64_t bytes = card.block_bytes * (card.mode & SEVERAL ? card.blocks : 1);

	if (value & DATA)
		bs_card_begin(bytes, card.mode & DMA ? 0 : card.block_bytes);
}

/* Registers of two bytes that are next to each other may be stored to as one. */
static void stored(uint64_t offset, uint64_t value)
{
	uint64_t second = value >> 16 & 0xffff;

	if (offset == BLOCK_SIZE) {
		card.block_bytes = value & BLOCK_BITS;
		card.blocks = second ? second : card.blocks;
	} else if (offset == BLOCKS) {
		card.blocks = value & 0xffff;
	} else if (offset == MIX_CTRL && card.has_mix_ctrl) {
		card.mode = value & 0xffff;
	} else if (offset == MODE) {
		if (!card.has_mix_ctrl)
			card.mode = value & 0xffff;
		if (second)
			command(second);
	} else if (offset == COMMAND) {
		command(value);
	}
}

bool bs_paced_sdhci_start(const struct bs_paced *p)
{
	static const struct bs_card_kind kind = {STATE, WORDS, stored};

	card.has_mix_ctrl = p->has_mix_ctrl;
	return bs_paced_card_start(p, &kind);
}
