/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions told by their bytes, as patterns of the watch file say. */
#ifndef BOOTSCOPE_OPCODE_H
#define BOOTSCOPE_OPCODE_H

#include "qemu_api.h"
#include "watch.h"

#define BS_LONGEST_INSN 16 /* of those that have prefixes */

/* Whether an instruction is like one of `n` patterns. */
bool bs_opcode_is(const struct bs_opcode *patterns, size_t n, const struct qemu_plugin_insn *insn);

/* The number of bytes that stand before the opcode: `prefix` in watch_port.h says what these may be. */
size_t bs_opcode_prefixes(const struct bs_watch *w, const uint8_t *code, size_t size);

/* Whether one of these prefixes has an instruction repeat itself. */
bool bs_opcode_repeats(const struct bs_watch *w, const struct qemu_plugin_insn *insn);

#endif
