/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file for classes of instructions (classes.h). All have SIZE MASK VALUE as their
 * first words behind the name, as the lines of other patterns do; all have the same SIZE.
 *
 *   costs plain|multiply|divide|shift|scaled ...  what an instruction is; plain: none of what comes behind it
 *   costs many ... LIST                    it moves a register for each bit under LIST
 *   loads word|narrow ... SHIFT BITS       it loads the register whose number is there in the instruction
 *   reads ... [SHIFT BITS]...              the registers that it reads, in the first cycle that matters
 *   split LOADS STORES                     bytes that an access may not cross a multiple of; 0: it may
 *   flat-passes                            stores to what is mapped as it is bring no lines in
 */
#ifndef BOOTSCOPE_WATCH_CLASSES_H
#define BOOTSCOPE_WATCH_CLASSES_H

#include "watch_line.h"

bool bs_watch_add_costs(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_loads(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_reads(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_split(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_flat_passes(struct bs_watch *w, const struct bs_line *l);

#endif
