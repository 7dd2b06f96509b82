/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * I/O ports. An instruction that accesses one accesses no memory, so QEMU tells a plugin nothing of it: it is
 * known by its opcode, and port and value are read from registers before it runs. Outputs are recorded; the
 * counting pass counts them, and what is read from ports as well.
 */
#ifndef BOOTSCOPE_PORTS_H
#define BOOTSCOPE_PORTS_H

#include "qemu_api.h"
#include "watch.h"

/* Has accesses to ports by this instruction seen, if it is one; `rest` instructions of its block are left with it. */
void bs_ports_translated(struct bs_watch *w, struct qemu_plugin_insn *insn, size_t rest);

#endif
