/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file for devices that take their time (paced.h); each function returns false for a line
 * that is not understood.
 *
 *   paced-serial ID REGISTER_BYTES CLOCK_HZ QUEUE_BYTES BYTE_NS  device ID is a port of the 16550 class; a byte
 *                                          takes BYTE_NS until a divisor is set
 *   paced-card ID COMMAND BITS SIZE STATE DATA LATENCY_NS BYTES_PER_S  a card's controller: a store to register
 *                                          COMMAND with all of BITS starts a transfer of as many bytes as register
 *                                          SIZE says; STATE says how it stands, and at DATA are its words
 */
#ifndef BOOTSCOPE_WATCH_PACED_H
#define BOOTSCOPE_WATCH_PACED_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_paced_serial(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_paced_card(struct bs_watch *w, const struct bs_line *l);

#endif
