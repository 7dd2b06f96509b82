/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file for the counting pass (timing.h); each function returns false for a line that
 * is not understood.
 *
 *   timing FILE LO HI                      count what the core's caches do, into FILE; memory lies in here
 *   cache WHICH SIZE WAYS LINE POLICY ALLOC a cache: code, data, second, code-tlb, data-tlb (LINE 1, SIZE
 *                                          its entries); POLICY lru, random, round-robin; ALLOC 1: a store
 *                                          brings a line in
 *   branches COUNTERS HISTORY TARGETS RETURNS  branch prediction; all 0: none
 *   control TRANSLATES DATA CODE REG...    bits of a control register that are all set while addresses are
 *                                          translated, data and code are cached; of several registers the
 *                                          one that changed last counts
 *   control-off BITS                       those of these bits that switch off: 0 in the register means on
 *   control-by SIZE MASK VALUE             an instruction that changes one of them, or what is translated to
 *                                          what (repeatable)
 *   clock SIZE MASK VALUE                  an instruction that reads a clock of the CPU (repeatable)
 *   repeat PREFIX                          a prefix (watch_port.h) that has an instruction repeat itself: each
 *                                          time is a block of its own, and none a branch (repeatable)
 *   large LO HI SHIFT                      addresses in here are translated in pages of 2^SHIFT bytes, as are
 *                                          those that stay what they are (repeatable)
 *   uncached LO HI                         memory that no cache holds (repeatable)
 *   write-combining                        stores to such memory are combined to lines, while data are cached
 *   switched PART DATA CODE                in a part, from 0, the caches of data and code are thought of as `on`
 *                                          or `off`, or `as-is` (repeatable)
 *   part EVENT                             with this event (timing.h), from 0, a new part begins (repeatable)
 *   price INSTRUCTION_PS PS...             the guest's clock passes with these: what an instruction takes, and each
 *                                          kind of event (enum bs_count); no file is written
 */
#ifndef BOOTSCOPE_WATCH_TIMING_H
#define BOOTSCOPE_WATCH_TIMING_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_set_timing(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_cache(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_branches(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_control(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_control_off(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_control_by(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_clock(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_repeat(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_large(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_uncached(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_write_combining(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_switched(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_part(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_price(struct bs_watch *w, const struct bs_line *l);

#endif
