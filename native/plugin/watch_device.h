/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about devices; each function returns false for a line that is not understood.
 *
 *   io ID PHYS SIZE                        record every store to these device registers
 *   disk ID                                io ID is a disk of virtio's (virtio_disk.h)
 *   config PHYS SIZE                       the configuration space of a bus lies there (config_space.h)
 *   text ID IO OFFSET HEX                  report when these bytes are stored to IO at OFFSET
 */
#ifndef BOOTSCOPE_WATCH_DEVICE_H
#define BOOTSCOPE_WATCH_DEVICE_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_io(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_disk(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_config(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_text(struct bs_watch *w, const struct bs_line *l);

#endif
