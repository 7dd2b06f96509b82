// SPDX-License-Identifier: GPL-2.0-or-later
#include "classes.h"

#define NO_DESTINATION 0xff

/* What a load brings in, and whether it is less than a word: such takes a cycle more to be put in place. */
struct loaded {
	uint8_t destination;
	bool narrow;
};

static uint64_t opcode_of(const struct qemu_plugin_insn *insn)
{
	uint64_t opcode = 0;

	qemu_plugin_insn_data(insn, &opcode, sizeof(opcode));
	return opcode;
}

/* The first rule of a group that an instruction follows, or NULL. */
static const struct bs_class *rule_of(const struct bs_timing *w, enum bs_class_group group, uint64_t opcode,
				      size_t size)
{
	for (size_t i = 0; i < w->n_classes; i++) {
		const struct bs_class *rule = &w->classes[i];

		if (rule->group == group && rule->opcode.size == size &&
		    (opcode & rule->opcode.mask) == rule->opcode.value)
			return rule;
	}
	return NULL;
}

static uint8_t field(const struct bs_class *rule, size_t i, uint64_t opcode)
{
	return (uint8_t)(opcode >> rule->field[i].shift & ((1u << rule->field[i].bits) - 1));
}

static bool reads(const struct bs_timing *w, uint64_t opcode, size_t size, uint8_t number)
{
	const struct bs_class *rule = rule_of(w, BS_GROUP_READS, opcode, size);

	for (size_t i = 0; rule && i < rule->n_fields; i++)
		if (field(rule, i, opcode) == number)
			return true;
	return false;
}

static struct loaded loaded_by(const struct bs_timing *w, uint64_t opcode, size_t size)
{
	const struct bs_class *rule = rule_of(w, BS_GROUP_LOADS, opcode, size);

	if (!rule)
		return (struct loaded){NO_DESTINATION, false};
	return (struct loaded){field(rule, 0, opcode), rule->narrow};
}

static void add(uint8_t *count, unsigned int n)
{
	*count = (uint8_t)(*count + n > UINT8_MAX ? UINT8_MAX : *count + n);
}

static bool all_of_one_size(struct qemu_plugin_tb *tb, size_t size)
{
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		if (qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i)) != size)
			return false;
	return true;
}

static void count_waits(const struct bs_timing *w, uint64_t opcode, size_t size, const struct loaded before[2],
			uint8_t counts[BS_N_CLASSES])
{
	if (before[0].destination != NO_DESTINATION && reads(w, opcode, size, before[0].destination))
		add(&counts[(before[0].narrow ? BS_NARROW_USE : BS_LOAD_USE) - BS_CLASSES],
		    before[0].narrow ? 2 : 1);
	else if (before[1].narrow && reads(w, opcode, size, before[1].destination))
		add(&counts[BS_NARROW_USE - BS_CLASSES], 1);
}

void bs_classes_count(const struct bs_timing *w, struct qemu_plugin_tb *tb, uint8_t counts[BS_N_CLASSES])
{
	struct loaded before[2] = {{NO_DESTINATION, false}, {NO_DESTINATION, false}};
	size_t size = w->n_classes ? w->classes[0].opcode.size : 0;

	/* Rules are of one instruction set, whose instructions have one size: others mix them. */
	if (!size || !all_of_one_size(tb, size))
		return;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		uint64_t opcode = opcode_of(qemu_plugin_tb_get_insn(tb, i));
		const struct bs_class *rule = rule_of(w, BS_GROUP_COSTS, opcode, size);

		count_waits(w, opcode, size, before, counts);
		if (rule && rule->count == BS_MORE_REGISTERS) {
			int n = __builtin_popcountll(opcode & rule->list);

			add(&counts[BS_MORE_REGISTERS - BS_CLASSES], n ? (unsigned int)n - 1 : 0);
		} else if (rule && rule->count != BS_COUNTS) {
			add(&counts[rule->count - BS_CLASSES], 1);
		}
		before[1] = before[0];
		before[0] = loaded_by(w, opcode, size);
	}
}
