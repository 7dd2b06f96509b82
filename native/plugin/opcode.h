/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions told by their bytes, as patterns of the watch file say. */
#ifndef BOOTSCOPE_OPCODE_H
#define BOOTSCOPE_OPCODE_H

#include "qemu_api.h"
#include "watch.h"

/* Whether an instruction is like one of `n` patterns. */
bool bs_opcode_is(const struct bs_opcode *patterns, size_t n, const struct qemu_plugin_insn *insn);

#endif
