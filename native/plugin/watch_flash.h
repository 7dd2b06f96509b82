/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file about flash that is read as memory (flash.h); each function returns false for a
 * line that is not understood.
 *
 *   flash ID BYTES                         io ID is flash whose loads are recorded (flash.h); an access
 *                                          moves BYTES
 *   flash-cache SIZE WAYS LINE FROM REGION and what is read below virtual address FROM goes through caches
 *                                          of this size, for code and for data; QEMU's name of the flash
 *                                          is REGION
 *   flash-switched                         the caches are on as the software switches them ('control' in
 *                                          watch_timing.h)
 *   flash-window ID LO HI                  from hook ID on, data are cached that are read from these virtual
 *                                          addresses; none are before the first of such hooks (repeatable)
 *   flash-second SIZE WAYS PHYS BIT        a cache behind both, with their lines, is on while what was stored
 *                                          last to the device register at PHYS has BIT
 */
#ifndef BOOTSCOPE_WATCH_FLASH_H
#define BOOTSCOPE_WATCH_FLASH_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_set_flash(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_flash_cache(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_flash_switched(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_flash_window(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_set_flash_second(struct bs_watch *w, const struct bs_line *l);

#endif
