/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output to I/O ports. An instruction that does this accesses no memory, so QEMU tells a plugin nothing of
 * it: it is known by its opcode, and port and value are read from registers before it runs.
 */
#ifndef BOOTSCOPE_PORTS_H
#define BOOTSCOPE_PORTS_H

#include "qemu_api.h"
#include "watch.h"

/* Has outputs by this instruction recorded, if it is one; `rest` instructions of its block are left with it. */
void bs_ports_translated(struct bs_watch *w, struct qemu_plugin_insn *insn, size_t rest);

#endif
