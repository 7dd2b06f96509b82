/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A controller whose card takes a time for each command with data: a latency, and the bytes at a rate. Its
 * interrupt comes then, and who asks for the state of a transfer waits for its end. Words that are fetched one by
 * one are there when the card has sent them.
 */
#ifndef BOOTSCOPE_PACED_CARD_H
#define BOOTSCOPE_PACED_CARD_H

#include <stdbool.h>

#include "watch.h"

/* Once the machine is complete. False, with a reason on stderr, when it cannot be done. */
bool bs_paced_card_start(const struct bs_paced *p);

#endif
