/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records what is drawn: the first pixel that is not dark (light.h), and whole frames (frame.h). */
#ifndef BOOTSCOPE_SCREEN_H
#define BOOTSCOPE_SCREEN_H

#include "qemu_api.h"
#include "watch.h"

/* False when there is no memory. */
bool bs_screen_init(const struct bs_watch *w);

/* Has the stores of an instruction at `vaddr` seen; `rest`: instructions of the block from here on. */
void bs_screen_translated(struct qemu_plugin_insn *insn, uint64_t vaddr, size_t rest);

#endif
