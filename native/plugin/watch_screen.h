/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about pictures in memory (screen.h); each function returns false for a line that
 * is not understood.
 *
 *   code LO HI                             store watches look only at code in here (repeatable)
 *   frame ID PHYS SIZE CELL FILE           a picture in memory, complete when each cell of CELL
 *                                          bytes was stored to; the first one is copied to FILE
 *   light ID PHYS SIZE CELL COLOUR         a picture in memory, dark until a byte is stored of which bits
 *                                          are set that count: COLOUR, in a cell of CELL bytes, 8 at most
 *   begins ID                              the frame counts from hook ID on: others have shown theirs before
 */
#ifndef BOOTSCOPE_WATCH_SCREEN_H
#define BOOTSCOPE_WATCH_SCREEN_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_code(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_frame(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_light(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_begins(struct bs_watch *w, const struct bs_line *l);

#endif
