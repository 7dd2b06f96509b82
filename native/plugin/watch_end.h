/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about the end of the recording (run.h); each function returns false for a line that
 * is not understood.
 *
 *   stop hook|frame|light|text ID          end the recording there
 *   limit NS                               end it at this time at the latest
 *   quiet NS                               end it when nothing was seen for so long
 *   quiet NS ID LATER                      and for LATER once hook ID was reached
 *   pause NS FILE                          the machine stands still at this time, which is written to FILE
 *                                          then (pause.h)
 */
#ifndef BOOTSCOPE_WATCH_END_H
#define BOOTSCOPE_WATCH_END_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_stop(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_limit(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_quiet(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_pause(struct bs_watch *w, const struct bs_line *l);

#endif
