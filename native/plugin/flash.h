/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flash that programs read as memory, with plain loads, and that they run from. Accesses that go on where the
 * one before ended are one record, which ends before any other record is made: so each is of one task, and
 * about as long as the time between two samples.
 *
 * What is read through caches is read by whole lines. The caches are models that hold nothing but flash.
 * Where the software's switching of caches is followed, what is read while they are off is read as it is asked
 * for: code by its instructions.
 */
#ifndef BOOTSCOPE_FLASH_H
#define BOOTSCOPE_FLASH_H

#include <stdbool.h>
#include <stddef.h>

#include "qemu_api.h"

struct bs_watch;

/* Whether this QEMU tells which code lies in flash; says so on stderr where not. */
bool bs_flash_code_known(void);

/* False when there is no memory. */
bool bs_flash_init(struct bs_watch *w);

/* Has the loads of an instruction seen, and its own fetch; `rest`: instructions of the block from here on. */
void bs_flash_translated(struct qemu_plugin_insn *insn, size_t rest);

/* Hook `id` was reached: from now on other addresses may be read through caches. */
void bs_flash_hook(uint32_t id);

/* A value was stored to a device at a physical address, which may switch the second cache. */
void bs_flash_stored(uint64_t phys, uint64_t value);

/* Records the accesses so far, if there are any. */
void bs_flash_done(void);

#endif
