/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about the CPU and its clock; each function returns false for a line that is not
 * understood.
 *
 *   tick NS                                virtual time of one instruction (2^icount shift)
 *   word BYTES MODE                        a pointer has 4 or 8 bytes; the bits MODE of one to code say
 *                                          which instructions lie there, not where
 *   register pc|stack|link|flags REG       which register has this part; a part that none has counts as 0
 *   segment BYTES                          an address in the program counter below BYTES counts from the
 *                                          beginning of a segment, nobody knows which
 *   condition COND MASK VALUE ...          COND (a number below 16) holds when the flags are VALUE under
 *                                          MASK, for one of these pairs; comes before what names it
 *   idle SIZE MASK VALUE                   an instruction of SIZE bytes, 8 at most, that puts the CPU to sleep
 *   yield SIZE MASK VALUE                  an instruction that gives up the CPU's turn to others
 *   quantum NS                             by how much one of several CPUs may be ahead of others (parallel.h)
 */
#ifndef BOOTSCOPE_WATCH_MACHINE_H
#define BOOTSCOPE_WATCH_MACHINE_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_set_tick(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_word(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_register(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_segment(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_condition(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_idle(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_yield(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_quantum(struct bs_watch *w, const struct bs_line *l);

#endif
