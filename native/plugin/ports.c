// SPDX-License-Identifier: GPL-2.0-or-later
#include "ports.h"

#include <stdlib.h>

#include "capture.h"
#include "clock.h"
#include "devices.h"
#include "opcode.h"
#include "registers.h"
#include "run.h"
#include "timing.h"

/* An instruction that accesses a port: kept for as long as QEMU may run its block. */
struct site {
	struct bs_watch *watch;
	const struct bs_transfer *transfer;
	uint8_t bytes;
	uint8_t port; /* where no register holds it */
	bool repeats;
	uint32_t rest;
};

static bool has_prefix(const uint8_t *prefixes, size_t n, uint8_t wanted)
{
	for (size_t i = 0; i < n; i++)
		if (prefixes[i] == wanted)
			return true;
	return false;
}

static const struct bs_transfer *transfer_of(const struct bs_watch *w, uint8_t opcode)
{
	for (size_t i = 0; i < w->n_transfer; i++)
		if (w->transfer[i].opcode == opcode)
			return &w->transfer[i];
	return NULL;
}

static uint64_t port_of(const struct site *s)
{
	const struct bs_transfer *t = s->transfer;

	return (t->port == BS_NO_REGISTER ? s->port : bs_register(t->port)) & s->watch->port_mask;
}

/* Each repetition is reached by itself, and so is the end of them. */
static bool is_over(const struct site *s)
{
	return s->repeats && !bs_register(s->transfer->count);
}

static void on_input(unsigned int vcpu, void *udata)
{
	const struct site *s = udata;

	(void)vcpu;
	if (!is_over(s))
		bs_timing_port(port_of(s), false);
}

static void on_output(unsigned int vcpu, void *udata)
{
	const struct site *s = udata;

	(void)vcpu;
	if (is_over(s))
		return;
	uint64_t port = port_of(s), value = bs_register(s->transfer->value);
	if (s->transfer->in_memory)
		value = bs_int(value);
	if (s->bytes < sizeof(value))
		value &= (UINT64_C(1) << 8 * s->bytes) - 1;
	bs_timing_port(port, true);
	int64_t now_ns = bs_clock_now(s->rest - 1);
	bs_ports_output(s->watch, port, s->bytes, value, now_ns);
	bs_run_check(now_ns);
}

void bs_ports_translated(struct bs_watch *w, struct qemu_plugin_insn *insn, size_t rest)
{
	uint8_t code[BS_LONGEST_INSN];
	size_t size = qemu_plugin_insn_data(insn, code, sizeof(code)), at = bs_opcode_prefixes(w, code, size);

	const struct bs_transfer *t = at < size ? transfer_of(w, code[at]) : NULL;
	if (!t || (t->port == BS_NO_REGISTER && at + 1 >= size))
		return;
	struct site *s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	*s = (struct site){.watch = w, .transfer = t, .bytes = t->bytes, .rest = (uint32_t)rest};
	if (t->port == BS_NO_REGISTER)
		s->port = code[at + 1];
	if (t->narrow_bytes && has_prefix(code, at, t->narrow_prefix))
		s->bytes = t->narrow_bytes;
	s->repeats = t->in_memory && has_prefix(code, at, t->repeat_prefix);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, t->reads ? on_input : on_output, QEMU_PLUGIN_CB_R_REGS, s);
}
