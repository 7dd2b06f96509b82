// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcode.h"

bool bs_opcode_is(const struct bs_opcode *patterns, size_t n, const struct qemu_plugin_insn *insn)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t opcode = 0;

		if (qemu_plugin_insn_size(insn) == patterns[i].size &&
		    qemu_plugin_insn_data(insn, &opcode, patterns[i].size) == patterns[i].size &&
		    (opcode & patterns[i].mask) == patterns[i].value)
			return true;
	}
	return false;
}
