/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about hooks (hooks.h); each function returns false for a line that is not understood.
 *
 *   hook ID VADDR once|every ITEM...       report when the program gets to this address, with:
 *       when COND                          only if this condition holds
 *       if REG VALUE                       only if the register holds VALUE
 *       unseen                             only the first time that it has these very values
 *       reg REG                            the value of the register, by the name that QEMU has for it
 *       word CHAIN                         the word in memory there
 *       int CHAIN                          the integer of 32 bits there
 *       none                               0, for a value that is not there
 *       str CHAIN [is HEX]                 the text there; with 'is', only if it is this one
 *       args CHAIN                         the texts in the list of pointers there, parted by 0 bytes
 *       bytes CHAIN CHAIN                  the bytes at the first place, as many as the integer of 32 bits
 *                                          at the second one says, BS_MAX_BYTES at most: right after the hook
 *       has HEX                            only if the text or these bytes hold this, as often as given
 *       path CHAIN NAME PARENT             names from the root down to the node there: NAME and
 *                                          PARENT are where a node keeps those two pointers
 *       stack                              and, right after it, the stack as for 'stack' (watch_sample.h)
 *       moves                              the program may move itself: see 'move'
 *       returns ID2 REG                    when the function that begins here has returned, report hook
 *                                          ID2 with the stack pointer then, and what REG holds (returns.h)
 *                                          CHAIN is REG, REG+OFF, or REG+OFF>OFF>OFF: a register plus
 *                                          an offset, and for every '>' the pointer there plus an offset;
 *                                          ':' stands for '>' before a pointer of 32 bits, in the code of
 *                                          boot loaders for a CPU with longer ones
 *   move ID FROM                           when hook ID is reached, programs that were linked to FROM
 *                                          have moved to the first value it recorded
 *   over ID BYTES                          when hook ID is reached, the task that runs ends; its stack has
 *                                          BYTES, a power of 2, and begins at a multiple (returns.h)
 *   routine FIRST LAST                     hooks of these IDs are reached in a guest that hangs, too:
 *                                          they are no news ('quiet' in watch_end.h)
 */
#ifndef BOOTSCOPE_WATCH_HOOK_H
#define BOOTSCOPE_WATCH_HOOK_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_hook(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_move(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_over(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_routine(struct bs_watch *w, const struct bs_line *l);

#endif
