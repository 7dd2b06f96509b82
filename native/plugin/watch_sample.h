/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about what is sampled and counted; each function returns false for a line that is
 * not understood.
 *
 *   sample NS                              take the program counter this often
 *   stack NS BYTES                         this often also what may be return addresses in so many
 *                                          bytes from the stack pointer up
 *   return LO HI                           return addresses lie in here (repeatable)
 *   call SIZE MASK VALUE                   and follow an instruction like this one (repeatable)
 *   usage NS FILE                          count which code runs, into FILE (usage.h); after a stop
 *                                          the guest goes on for NS, for this and nothing else
 *   stage ID                               hook ID begins a new stage of that count, as a stop does
 *   owner ID CHAIN ID CHAIN                the integer in memory at the first hook says who the count
 *                                          is kept apart for, that at the second who runs from then on
 */
#ifndef BOOTSCOPE_WATCH_SAMPLE_H
#define BOOTSCOPE_WATCH_SAMPLE_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_set_sample(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_stack(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_return(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_call(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_usage(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_stage(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_owner(struct bs_watch *w, const struct bs_line *l);

#endif
