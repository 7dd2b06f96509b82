// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bootscope's eye inside QEMU. It stamps what a watch file names and knows nothing else: no board,
 * no architecture, no device, no operating system. See watch.h for the file, stream.h for the output.
 *
 * How accesses to devices are seen cheaply: under -icount QEMU lets an instruction touch a device
 * only when it is the last one of its translation block (others are translated again, alone). So
 * only the last instruction of a block needs a memory callback, not every load and store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "control.h"
#include "core_clock.h"
#include "cpus.h"
#include "devices.h"
#include "flash.h"
#include "hooks.h"
#include "opcode.h"
#include "paced.h"
#include "pause.h"
#include "place.h"
#include "ports.h"
#include "qemu_api.h"
#include "record.h"
#include "registers.h"
#include "returns.h"
#include "run.h"
#include "screen.h"
#include "timing.h"
#include "turns.h"
#include "usage.h"
#include "watch.h"

#define DEFAULT_CHECK_NS 1000000

BS_EXPORT int qemu_plugin_version = BS_PLUGIN_API_VERSION;

static struct bs_watch watch;
static uint64_t check_insns;
static int64_t check_period_ns;

/*
 * Where a block that begins is. Not where it was when it was translated: QEMU runs one translation for
 * all processes that have a page of a file, each at an address of its own. None of that is in segments.
 */
static uint64_t block_pc(const struct bs_place *at)
{
	uint64_t pc = bs_register(watch.pc);

	return pc < watch.segment_bytes || !pc ? at->vaddr : pc;
}

static void on_check_due(unsigned int vcpu, void *udata)
{
	const struct bs_place *at = udata;
	int64_t now_ns = bs_clock_now(at->rest);

	(void)vcpu;
	bs_clock_fold();
	bs_run_sample(block_pc(at), now_ns);
	bs_run_check(now_ns);
}

/* A block begins, and the clock is that of a core. */
static void on_core_block(unsigned int vcpu, void *udata)
{
	const struct bs_place *at = udata;

	(void)vcpu;
	bs_core_clock_block(bs_clock_now(at->rest), check_period_ns);
}

static void on_core_check(unsigned int vcpu, void *udata)
{
	bs_core_clock_checked();
	on_check_due(vcpu, udata);
}

/* A block begins, on one of several CPUs. */
static void on_block(unsigned int vcpu, void *udata)
{
	const struct bs_place *at = udata;

	(void)vcpu;
	if (bs_turns_block(at->rest))
		bs_turns_due(block_pc(at), bs_clock_now(at->rest));
}

/* A block begins, and functions are to return: perhaps to it. */
static void on_block_returns(unsigned int vcpu, void *udata)
{
	const struct bs_place *at = udata;

	(void)vcpu;
	if (bs_returns_may(at->vaddr))
		bs_returns_block(block_pc(at), at->rest);
}

static void on_hook(unsigned int vcpu, void *udata)
{
	const struct bs_place *at = udata;

	(void)vcpu;
	bs_hook_reached(&watch, at->hook, at->vaddr, at->rest);
}

static void on_sleep(unsigned int vcpu, void *udata)
{
	const struct bs_place *at = udata;

	(void)vcpu;
	if (!bs_clock_adrift())
		bs_clock_sleep(at->rest - 1);
	if (bs_core_clock_used(&watch))
		bs_core_clock_tell();
}

/* ---- translation ---- */

static void add_waits(struct qemu_plugin_insn *insn, uint64_t vaddr, size_t rest)
{
	bool sleeps = bs_opcode_is(watch.idle, watch.n_idle, insn);

	if (!bs_cpus_one())
		bs_turns_waits(insn, sleeps, !sleeps && bs_opcode_is(watch.yield, watch.n_yield, insn));
	else if (sleeps)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_sleep, QEMU_PLUGIN_CB_NO_REGS,
						       bs_place_new(vaddr, rest, NULL));
}

/* Hooks at `linked`, the address that the instruction at vaddr had before its program moved. */
static void add_hooks(struct qemu_plugin_insn *insn, uint64_t vaddr, uint64_t linked, size_t rest)
{
	size_t n_hooks;
	struct bs_hook *hooks = bs_watch_hooks_at(&watch, linked, &n_hooks);

	for (size_t i = 0; i < n_hooks; i++)
		if (linked == vaddr || hooks[i].moves)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_hook, QEMU_PLUGIN_CB_R_REGS,
							       bs_place_new(vaddr, rest, &hooks[i]));
}

static void instrument_insn(struct qemu_plugin_insn *insn, size_t rest)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);

	add_hooks(insn, vaddr, vaddr, rest);
	if (watch.moved_by)
		add_hooks(insn, vaddr, vaddr - watch.moved_by, rest);
	add_waits(insn, vaddr, rest);
	if (watch.n_transfer)
		bs_ports_translated(&watch, insn, rest);
	bs_screen_translated(insn, vaddr, rest);
	if (watch.flash.io)
		bs_flash_translated(insn, rest);
	if (rest == 1)
		qemu_plugin_register_vcpu_mem_cb(insn, bs_devices_accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, &watch);
}

static void count_block(struct qemu_plugin_tb *tb, struct bs_place *begin, size_t n)
{
	if (!bs_cpus_one()) {
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_R_REGS, begin);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							  bs_clock_counter(), n);
	if (bs_core_clock_used(&watch)) {
		/* Handing over registers takes longer than all else here, and is seldom needed. */
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_core_block, QEMU_PLUGIN_CB_NO_REGS, begin);
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_core_check, QEMU_PLUGIN_CB_R_REGS,
							  QEMU_PLUGIN_COND_GT, bs_core_clock_check(), 0, begin);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_check_due, QEMU_PLUGIN_CB_R_REGS,
						  QEMU_PLUGIN_COND_GE, bs_clock_counter(), check_insns, begin);
}

static void see_returns(struct qemu_plugin_tb *tb, struct bs_place *begin)
{
	if (bs_cpus_one())
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_block_returns, QEMU_PLUGIN_CB_R_REGS,
							  QEMU_PLUGIN_COND_GT, bs_returns_counter(), 0, begin);
	else
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block_returns, QEMU_PLUGIN_CB_R_REGS, begin);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	struct bs_place *begin = bs_place_new(qemu_plugin_tb_vaddr(tb), n, NULL);
	count_block(tb, begin, n);
	bs_control_block(tb);
	if (watch.returns)
		see_returns(tb, begin);
	if (watch.usage.used)
		bs_usage_block(tb, bs_clock_now(0));
	if (watch.timing.used)
		bs_timing_block(tb, bs_clock_now(0));
	for (size_t i = 0; i < n; i++)
		instrument_insn(qemu_plugin_tb_get_insn(tb, i), n - i);
}

static void on_vcpu_init(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	if (vcpu == 0 && !bs_registers_find())
		_exit(1);
	if (vcpu == 0 && watch.pause.used && !bs_pause_start(&watch.pause))
		_exit(1);
	if (vcpu == 0 && !bs_core_clock_start(&watch))
		_exit(1);
	/* All of them are there when the last one is, and none has run yet. */
	if (!bs_cpus_one() && vcpu + 1 == bs_cpus_number() && !bs_turns_start(&watch))
		_exit(1);
}

/* ---- start ---- */

static bool install(const char *watch_path, const char *out_path)
{
	if (!bs_watch_load(&watch, watch_path))
		return false;
	if (!bs_screen_init(&watch))
		return false;
	if (watch.usage.used && !bs_usage_init(watch.usage.path))
		return false;
	if (watch.timing.used && !bs_timing_init(&watch))
		return false;
	if (!bs_stream_open(out_path, watch.tick_ns)) {
		perror("bootscope plugin: cannot make the recording");
		return false;
	}
	bs_clock_init(watch.tick_ns);
	if (!bs_paced_init(&watch))
		return false;
	if (watch.returns)
		bs_returns_init(&watch);
	bs_capture_init(watch.word_bytes);
	if (watch.flash.io && !bs_flash_init(&watch))
		return false;
	/* Looked at eight times as often as sampled, so that samples lie close to their grid. */
	check_period_ns = watch.sample_ns ? watch.sample_ns / 8 : DEFAULT_CHECK_NS;
	check_insns = (uint64_t)(check_period_ns / watch.tick_ns) + 1;
	bs_run_start(&watch);
	return true;
}

BS_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

BS_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	const char *watch_path = NULL, *out_path = NULL;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "watch=", 6))
			watch_path = argv[i] + 6;
		else if (!strncmp(argv[i], "out=", 4))
			out_path = argv[i] + 4;
	}
	if (!watch_path || !out_path || !info->system_emulation) {
		fputs("bootscope plugin: needs watch=FILE, out=FILE and a whole machine\n", stderr);
		return 1;
	}
	if (!bs_cpus_init(info->system.max_vcpus) || !install(watch_path, out_path))
		return 1;
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
