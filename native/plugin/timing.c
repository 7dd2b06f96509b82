// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "timing.h"

#include <stdio.h>

#include "cpus.h"
#include "timing_code.h"
#include "timing_data.h"
#include "timing_file.h"
#include "timing_pass.h"

#define PS 1000 /* in a nanosecond */

struct bs_pass bs_pass;

/* ---- what the software switches ---- */

/* What is on: what the software has switched, unless it is thought of otherwise in this part of the boot. */
static void set_switches(void)
{
	bool data = bs_pass.control->data, code = bs_pass.control->code, translates = bs_pass.control->translates;

	for (size_t i = 0; i < bs_pass.watch->n_switched; i++) {
		const struct bs_switched *s = &bs_pass.watch->switched[i];

		if (s->part != bs_timing_file_part())
			continue;
		data = s->data == BS_AS_IS ? data : s->data == BS_ON;
		code = s->code == BS_AS_IS ? code : s->code == BS_ON;
		/* Where a bit switches on, data is cached by what a page says, so that there are pages. */
		translates |= s->data == BS_ON && bs_pass.watch->control_bits[0] && !bs_pass.watch->control_off;
	}
	bs_hierarchy_switch(&bs_pass.h, data, code, translates);
}

static void on_control(const struct bs_control *now, bool changed)
{
	(void)now;
	bs_timing_data_forget();
	if (changed)
		set_switches();
}

void bs_timing_port(uint64_t port, bool store)
{
	if (bs_pass.watch)
		bs_timing_data_port(port, store);
}

/* ---- translation ---- */

void bs_timing_block(struct qemu_plugin_tb *tb, int64_t now_ns)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	bs_timing_code_translated(tb, now_ns);
	for (size_t i = 0; i < n; i++)
		bs_timing_data_translated(qemu_plugin_tb_get_insn(tb, i));
}

/* ---- the file ---- */

void bs_timing_record(enum bs_record type)
{
	if (!bs_pass.watch || bs_pass.watch->price.used || type == BS_REC_STACK || type == BS_REC_BYTES)
		return;
	if (type == BS_REC_SAMPLE) {
		bs_timing_file_sample(bs_pass.h.counts);
		return;
	}
	size_t part = bs_timing_file_part();
	bs_timing_file_event(bs_pass.h.counts, type != BS_REC_IO);
	if (part == bs_timing_file_part() || !bs_pass.watch->n_switched)
		return;
	bs_timing_data_forget();
	set_switches();
}

const int64_t *bs_timing_waited_ps(void)
{
	return &bs_pass.h.waited_ps;
}

void bs_timing_wait(int64_t ns)
{
	bs_pass.h.waited_ps += ns * PS;
}

void bs_timing_write(void)
{
	if (bs_pass.watch && !bs_pass.watch->price.used)
		bs_timing_file_write(bs_pass.watch->path);
}

bool bs_timing_init(struct bs_watch *w)
{
	const struct bs_timing *watch = &w->timing;

	if (!bs_cpus_one()) {
		fputs("bootscope plugin: caches are modelled for one CPU, and this machine has several\n", stderr);
		return false;
	}
	if (!watch->has[BS_CODE] || !watch->has[BS_DATA] || !watch->has[BS_DATA_TLB]) {
		fputs("bootscope plugin: timing needs the caches code and data, and data-tlb\n", stderr);
		return false;
	}
	bs_pass.h = (struct bs_hierarchy){.code = watch->cache[BS_CODE], .data = watch->cache[BS_DATA],
					  .second = watch->cache[BS_SECOND], .code_tlb = watch->cache[BS_CODE_TLB],
					  .data_tlb = watch->cache[BS_DATA_TLB], .has_second = watch->has[BS_SECOND],
					  .one_tlb = !watch->has[BS_CODE_TLB]};
	bs_hierarchy_start(&bs_pass.h, watch->price.used ? watch->price.event_ps : NULL);
	bs_timing_code_start(w);
	bs_timing_data_start(w->tick_ns);
	bs_pass.control = bs_control_follow(w, on_control);
	bs_pass.watch = watch;
	if (!bs_pass.control || !bs_timing_file_init(watch->part, watch->n_parts))
		return false;
	set_switches();
	return true;
}
