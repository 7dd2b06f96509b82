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

static bool is_prefix(const struct bs_watch *w, uint8_t byte)
{
	for (size_t i = 0; i < w->n_prefix; i++)
		if (byte >= w->prefix[i].start && byte < w->prefix[i].end)
			return true;
	return false;
}

size_t bs_opcode_prefixes(const struct bs_watch *w, const uint8_t *code, size_t size)
{
	size_t n = 0;

	while (n < size && is_prefix(w, code[n]))
		n++;
	return n;
}

bool bs_opcode_repeats(const struct bs_watch *w, const struct qemu_plugin_insn *insn)
{
	uint8_t code[BS_LONGEST_INSN];
	size_t n = bs_opcode_prefixes(w, code, qemu_plugin_insn_data(insn, code, sizeof(code)));

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < w->timing.n_repeat; k++)
			if (code[i] == w->timing.repeat[k])
				return true;
	return false;
}
