/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A controller whose card takes a time for each command with data: a latency, and the bytes at a rate. Its
 * interrupt comes then, and who asks for the state of a transfer waits for its end. Words that are fetched one by
 * one are there when the card has sent them.
 */
#ifndef BOOTSCOPE_PACED_CARD_H
#define BOOTSCOPE_PACED_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "watch.h"

/* A kind of controller, by what its registers mean: where the state of a transfer is, and its words. */
struct bs_card_kind {
	uint64_t state_at, data_at;
	/* The guest stores to a register. */
	void (*stored)(uint64_t offset, uint64_t value);
};

/* Once the machine is complete. False, with a reason on stderr, when it cannot be done. */
bool bs_paced_card_start(const struct bs_paced *p, const struct bs_card_kind *kind);

/* For kinds: a transfer begins. Its state is asked for after every `block_bytes`; 0: only after all. */
void bs_card_begin(uint64_t bytes, uint64_t block_bytes);

#endif
