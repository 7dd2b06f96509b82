// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "control.h"

#include "opcode.h"
#include "registers.h"

#define MAX_SEEN 2

static struct {
	const struct bs_timing *watch;
	struct qemu_plugin_scoreboard *look;
	uint64_t value[BS_MAX_CONTROL];
	struct bs_control now;
	bs_control_seen seen[MAX_SEEN];
	size_t n_seen;
} c;

static uint64_t *look_again(void)
{
	return qemu_plugin_scoreboard_find(c.look, 0);
}

static bool is_on(uint64_t value, uint64_t bits)
{
	return ((value ^ c.watch->control_off) & bits) == bits;
}

static void on_look(unsigned int vcpu, void *udata)
{
	const uint64_t *bits = c.watch->control_bits;
	bool changed = false;

	(void)vcpu;
	(void)udata;
	*look_again() = 0;
	for (size_t i = 0; i < c.watch->n_control; i++) {
		uint64_t value = bs_register(c.watch->control[i]);

		if (value == c.value[i])
			continue;
		c.value[i] = value;
		changed = true;
		/* Without a bit nothing can be switched. */
		c.now = (struct bs_control){.data = is_on(value, bits[1]), .code = is_on(value, bits[2]),
					    .translates = bits[0] && is_on(value, bits[0])};
	}
	for (size_t i = 0; i < c.n_seen; i++)
		c.seen[i](&c.now, changed);
}

static void on_control(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	*look_again() = 1;
}

const struct bs_control *bs_control_follow(const struct bs_watch *w, bs_control_seen seen)
{
	if (!c.look) {
		c.watch = &w->timing;
		c.look = qemu_plugin_scoreboard_new(sizeof(uint64_t));
		for (size_t i = 0; i < BS_MAX_CONTROL; i++)
			c.value[i] = UINT64_MAX;
		/* What no register switches is on. */
		c.now = (struct bs_control){.data = !c.watch->control_bits[1], .code = !c.watch->control_bits[2]};
	}
	c.seen[c.n_seen++] = seen;
	return c.look ? &c.now : NULL;
}

void bs_control_block(struct qemu_plugin_tb *tb)
{
	qemu_plugin_u64 look = {.score = c.look, .offset = 0};

	if (!c.n_seen)
		return;
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_look, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_COND_NE, look, 0,
						  NULL);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (bs_opcode_is(c.watch->control_by, c.watch->n_control_by, insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_control, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}
