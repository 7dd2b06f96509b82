/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel tells of MMC and SD cards: where areas on them should begin. */
#ifndef AGENT_CARDS_H
#define AGENT_CARDS_H

#include "collect.h"

/* A line "bootscope.card_erase_bytes = NAME=N ..." of the cards in the folder that `dir` is open on: as
 * /sys/bus/mmc/devices, whose preferred_erase_size says what a card erases at once. Nothing where no card does. */
void cards_in(int dir, struct buf *b);

/* The same for the cards of this board; nothing where it has none. */
void cards(const struct collector *c, struct buf *b);

#endif
