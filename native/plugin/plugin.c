// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bootscope's eye inside QEMU. It stamps what a watch file names and knows nothing else: no board,
 * no device, no operating system. See watch.h for the file, stream.h for the output.
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
#include "frame.h"
#include "qemu_api.h"
#include "record.h"
#include "seen.h"
#include "stack.h"
#include "usage.h"
#include "watch.h"

#define DEFAULT_CHECK_NS 1000000

BS_EXPORT int qemu_plugin_version = BS_PLUGIN_API_VERSION;

/* Where a callback stands: kept for as long as QEMU may run the block. */
struct place {
	uint64_t vaddr;
	uint32_t rest; /* instructions of the block from here on */
	struct bs_hook *hook;
};

static struct bs_watch watch;
static uint64_t check_insns;
static int64_t next_sample_ns, next_stack_ns;
static int64_t power_off_ns; /* after the end of the recording; 0 while it goes on */
static uint32_t frame_number;

static struct place *new_place(uint64_t vaddr, size_t rest, struct bs_hook *hook)
{
	static struct place *block;
	static size_t left;

	if (!left) {
		left = 4096;
		block = calloc(left, sizeof(*block));
		if (!block)
			abort();
	}
	struct place *p = &block[--left];
	*p = (struct place){.vaddr = vaddr, .rest = (uint32_t)rest, .hook = hook};
	return p;
}

/* ---- samples, limits ---- */

static void power_off(void)
{
	bs_usage_write();
	/* Not exit(): the handlers of QEMU would wait for the very thread we are on. */
	_exit(0);
}

static void end(enum bs_end reason, uint32_t id, int64_t now_ns)
{
	bool stopped = reason != BS_END_LIMIT && reason != BS_END_QUIET;

	if (power_off_ns)
		return;
	bs_record_end(reason, id, now_ns);
	if (!watch.usage.after_ns || !stopped)
		power_off();
	/* What is known is kept: nothing may ever wake the guest again. */
	bs_usage_stage();
	bs_usage_write();
	power_off_ns = now_ns + watch.usage.after_ns;
}

static void check_limits(int64_t now_ns)
{
	if (power_off_ns) {
		if (now_ns >= power_off_ns)
			power_off();
		return;
	}
	/* While the clock is adrift, now_ns is too early: nothing ends too soon. */
	if (watch.limit_ns && now_ns >= watch.limit_ns)
		end(BS_END_LIMIT, 0, now_ns);
	if (watch.quiet_ns && now_ns - bs_record_last_news_ns() >= watch.quiet_ns)
		end(BS_END_QUIET, 0, now_ns);
}

/*
 * Samples lie on a grid of time, and are taken at the start of blocks. Counting instructions would not
 * do: those of a block that a device access breaks off are counted, but run only after it, and are
 * counted again then. Nor would sampling at device accesses: the code between them would be missed.
 */
static void sample(uint64_t pc, int64_t now_ns)
{
	struct bs_payload p = {.size = 0};

	next_sample_ns += watch.sample_ns;
	if (next_sample_ns <= now_ns)
		next_sample_ns = now_ns + watch.sample_ns;
	bs_put_uint(&p, pc);
	bs_record(BS_REC_SAMPLE, now_ns, &p);
	if (!watch.stack.period_ns || now_ns < next_stack_ns)
		return;
	next_stack_ns += watch.stack.period_ns;
	if (next_stack_ns <= now_ns)
		next_stack_ns = now_ns + watch.stack.period_ns;
	bs_stack_record(&watch, pc, now_ns);
}

/*
 * Where a block that begins is. Not where it was when it was translated: QEMU runs one translation for
 * all processes that have a page of a file, each at an address of its own.
 */
static uint64_t block_pc(const struct place *at)
{
	uint64_t pc = bs_register(BS_REG_PC);

	return pc ? pc : at->vaddr;
}

static void on_check_due(unsigned int vcpu, void *udata)
{
	const struct place *at = udata;
	int64_t now_ns = bs_clock_now(at->rest);

	(void)vcpu;
	bs_clock_fold();
	if (watch.sample_ns && now_ns >= next_sample_ns)
		sample(block_pc(at), now_ns);
	check_limits(now_ns);
}

/* ---- device registers ---- */

static uint64_t stored_value(qemu_plugin_meminfo_t info)
{
	qemu_plugin_mem_value v = qemu_plugin_mem_get_value(info);

	switch (v.type) {
	case QEMU_PLUGIN_MEM_VALUE_U8:
		return v.data.u8;
	case QEMU_PLUGIN_MEM_VALUE_U16:
		return v.data.u16;
	case QEMU_PLUGIN_MEM_VALUE_U32:
		return v.data.u32;
	default:
		return v.data.u64;
	}
}

/* Whether the ring of bytes last stored ends in the text looked for. */
static bool text_seen(struct bs_text *t, uint8_t byte)
{
	t->seen[t->seen_at] = byte;
	t->seen_at = (t->seen_at + 1) % t->size;
	if (++t->seen_total < t->size)
		return false;
	for (size_t i = 0; i < t->size; i++)
		if (t->seen[(t->seen_at + i) % t->size] != t->bytes[i])
			return false;
	return true;
}

static void look_for_texts(const struct bs_io *io, uint64_t offset, uint64_t value, int64_t now_ns)
{
	for (size_t i = 0; i < watch.n_text; i++) {
		struct bs_text *t = &watch.text[i];
		struct bs_payload p = {.size = 0};

		if (t->io != io->id || t->offset != offset || !text_seen(t, (uint8_t)value))
			continue;
		bs_put_uint(&p, t->id);
		bs_record(BS_REC_TEXT, now_ns, &p);
		if (t->stop)
			end(BS_END_STOP_TEXT, t->id, now_ns);
	}
}

static void record_io(uint64_t phys, qemu_plugin_meminfo_t info, int64_t now_ns)
{
	for (size_t i = 0; i < watch.n_io; i++) {
		const struct bs_io *io = &watch.io[i];
		struct bs_payload p = {.size = 0};
		uint64_t value;

		if (phys < io->start || phys >= io->end)
			continue;
		value = stored_value(info);
		bs_put_uint(&p, io->id);
		bs_put_uint(&p, phys - io->start);
		bs_put_byte(&p, (uint8_t)(1u << qemu_plugin_mem_size_shift(info)));
		bs_put_uint(&p, value);
		bs_record(BS_REC_IO, now_ns, &p);
		look_for_texts(io, phys - io->start, value, now_ns);
	}
}

static void after_sleep(const struct bs_clock_jump *jump)
{
	struct bs_payload p = {.size = 0};
	int64_t slept_ns = jump->wake_ns - jump->sleep_ns;

	if (slept_ns > 0) {
		bs_put_uint(&p, (uint64_t)slept_ns);
		bs_record(BS_REC_IDLE, jump->wake_ns, &p);
	}
	bs_record_release(slept_ns);
	/* A sleeping CPU is not sampled. */
	next_sample_ns += slept_ns;
	next_stack_ns += slept_ns;
}

static void on_device_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);

	(void)vcpu;
	(void)udata;
	if (!hw || !qemu_plugin_hwaddr_is_io(hw))
		return;
	uint64_t phys = qemu_plugin_hwaddr_phys_addr(hw);
	struct bs_clock_jump jump = bs_clock_sync();
	int64_t now_ns = bs_clock_now(0);
	if (jump.slept)
		after_sleep(&jump);
	if (qemu_plugin_mem_is_store(info))
		record_io(phys, info, now_ns);
	check_limits(now_ns);
}

/* ---- the picture ---- */

static void frame_record(enum bs_record type, int64_t now_ns, uint64_t pc, bool copied)
{
	struct bs_payload p = {.size = 0};

	bs_put_uint(&p, watch.frame.id);
	bs_put_uint(&p, frame_number);
	bs_put_byte(&p, copied);
	bs_put_uint(&p, pc);
	bs_record(type, now_ns, &p);
}

static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	const struct place *at = udata;
	const struct bs_frame *f = &watch.frame;
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t phys = hw ? qemu_plugin_hwaddr_phys_addr(hw) : 0;

	(void)vcpu;
	if (phys < f->start || phys >= f->start + f->size)
		return;
	int64_t now_ns = bs_clock_now(at->rest);
	enum bs_frame_news news = bs_frame_store(phys - f->start, 1u << qemu_plugin_mem_size_shift(info));
	if (news == BS_FRAME_TOUCHED)
		frame_record(BS_REC_TOUCH, now_ns, at->vaddr, false);
	if (news != BS_FRAME_WHOLE)
		return;
	/* A mapping of a frame buffer is one piece, so its start follows from any address in it. */
	bool copied = !frame_number && bs_frame_copy(f, vaddr - (phys - f->start));
	frame_record(BS_REC_FRAME, now_ns, at->vaddr, copied);
	frame_number++;
	if (f->stop)
		end(BS_END_STOP_FRAME, f->id, now_ns);
}

/* ---- hooks ---- */

/* The hook's text; false when there is none that counts. */
static bool hook_text(const struct bs_hook *h, uint8_t text[BS_MAX_HOOK_TEXT], size_t *size)
{
	uint64_t address;

	*size = 0;
	if (h->text == BS_NO_TEXT)
		return true;
	if (bs_chain_address(&h->text_at, &address)) {
		if (h->text == BS_STR)
			*size = bs_text(address, text);
		else if (h->text == BS_ARGS)
			*size = bs_text_list(address, text);
		else
			*size = bs_path(address, h->name_at, h->parent_at, text);
	}
	return !h->only || (*size == h->only_size && !memcmp(text, h->only, *size));
}

static uint64_t hook_value(const struct bs_value *v)
{
	uint64_t address;

	if (!v->memory)
		return bs_register(v->chain.reg);
	return bs_chain_address(&v->chain, &address) ? bs_word(address) : 0;
}

static bool hook_counts(const struct bs_hook *h)
{
	if (h->once && h->done)
		return false;
	if (h->if_reg >= 0 && bs_register((unsigned int)h->if_reg) != h->if_value)
		return false;
	return h->when >= 14 || bs_condition_holds(h->when);
}

/* Who runs: told at the hook where the owner starts, and at every switch after it. */
static void note_owner(const struct bs_hook *h)
{
	struct bs_owner *o = &watch.usage.owner;
	const struct bs_chain *chain = h->id == o->start_hook ? &o->start : &o->now;
	uint64_t address;

	if (h->id != o->start_hook && (h->id != o->switch_hook || !o->known))
		return;
	uint64_t who = bs_chain_address(chain, &address) ? bs_word(address) : 0;
	if (h->id == o->start_hook) {
		o->known = true;
		o->who = who;
	}
	bs_usage_owner(who == o->who);
}

static void on_hook(unsigned int vcpu, void *udata)
{
	const struct place *at = udata;
	struct bs_hook *h = at->hook;
	struct bs_payload p = {.size = 0};
	uint8_t text[BS_MAX_HOOK_TEXT];
	size_t text_size;

	(void)vcpu;
	if (!hook_counts(h) || !hook_text(h, text, &text_size))
		return;
	bs_put_uint(&p, h->id);
	bs_put_byte(&p, (uint8_t)h->n_values);
	for (size_t i = 0; i < h->n_values; i++)
		bs_put_uint(&p, hook_value(&h->values[i]));
	if (h->unseen && !bs_seen_add(p.bytes, p.size))
		return;
	h->done = true;
	int64_t now_ns = bs_clock_now(at->rest);
	if (h->text != BS_NO_TEXT) {
		bs_put_byte(&p, (uint8_t)text_size);
		bs_put_bytes(&p, text, text_size);
	}
	if (h->routine)
		bs_record_routine(BS_REC_HOOK, now_ns, &p);
	else
		bs_record(BS_REC_HOOK, now_ns, &p);
	if (h->stack)
		bs_stack_record(&watch, at->vaddr, now_ns);
	if (h->id == watch.move_hook && h->n_values)
		watch.moved_by = hook_value(&h->values[0]) - watch.move_from;
	if (watch.usage.used)
		note_owner(h);
	if (h->stage)
		bs_usage_stage();
	if (h->stop)
		end(BS_END_STOP_HOOK, h->id, now_ns);
}

static void on_sleep(unsigned int vcpu, void *udata)
{
	const struct place *at = udata;

	(void)vcpu;
	if (!bs_clock_adrift())
		bs_clock_sleep(at->rest - 1);
}

/* ---- translation ---- */

static bool is_idle_insn(const struct qemu_plugin_insn *insn)
{
	for (size_t i = 0; i < watch.n_idle; i++) {
		const struct bs_idle *idle = &watch.idle[i];
		uint32_t opcode = 0;

		if (qemu_plugin_insn_size(insn) == idle->size &&
		    qemu_plugin_insn_data(insn, &opcode, idle->size) == idle->size &&
		    (opcode & idle->mask) == idle->value)
			return true;
	}
	return false;
}

static bool in_watched_code(uint64_t vaddr)
{
	for (size_t i = 0; i < watch.n_code; i++)
		if (vaddr >= watch.code[i].start && vaddr < watch.code[i].end)
			return true;
	return false;
}

/* Hooks at `linked`, the address that the instruction at vaddr had before its program moved. */
static void add_hooks(struct qemu_plugin_insn *insn, uint64_t vaddr, uint64_t linked, size_t rest)
{
	size_t n_hooks;
	struct bs_hook *hooks = bs_watch_hooks_at(&watch, linked, &n_hooks);

	for (size_t i = 0; i < n_hooks; i++)
		if (linked == vaddr || hooks[i].moves)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_hook, QEMU_PLUGIN_CB_R_REGS,
							       new_place(vaddr, rest, &hooks[i]));
}

static void instrument_insn(struct qemu_plugin_insn *insn, size_t rest)
{
	uint64_t vaddr = qemu_plugin_insn_vaddr(insn);

	add_hooks(insn, vaddr, vaddr, rest);
	if (watch.moved_by)
		add_hooks(insn, vaddr, vaddr - watch.moved_by, rest);
	if (is_idle_insn(insn))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_sleep, QEMU_PLUGIN_CB_NO_REGS,
						       new_place(vaddr, rest, NULL));
	if (watch.frame.used && in_watched_code(vaddr))
		qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, new_place(vaddr, rest, NULL));
	if (rest == 1)
		qemu_plugin_register_vcpu_mem_cb(insn, on_device_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							  bs_clock_counter(), n);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_check_due, QEMU_PLUGIN_CB_R_REGS,
						  QEMU_PLUGIN_COND_GE, bs_clock_counter(), check_insns,
						  new_place(qemu_plugin_tb_vaddr(tb), n, NULL));
	if (watch.usage.used)
		bs_usage_block(tb, bs_clock_now(0));
	for (size_t i = 0; i < n; i++)
		instrument_insn(qemu_plugin_tb_get_insn(tb, i), n - i);
}

static void on_vcpu_init(qemu_plugin_id_t id, unsigned int vcpu)
{
	(void)id;
	if (vcpu == 0)
		bs_capture_init();
}

/* ---- start ---- */

static bool install(const char *watch_path, const char *out_path)
{
	if (!bs_watch_load(&watch, watch_path))
		return false;
	if (watch.frame.used && !bs_frame_init(&watch.frame))
		return false;
	if (watch.usage.used && !bs_usage_init(watch.usage.path))
		return false;
	if (!bs_stream_open(out_path, watch.tick_ns)) {
		perror("bootscope plugin: cannot make the recording");
		return false;
	}
	bs_clock_init(watch.tick_ns);
	/* Looked at eight times as often as sampled, so that samples lie close to their grid. */
	int64_t period_ns = watch.sample_ns ? watch.sample_ns / 8 : DEFAULT_CHECK_NS;
	check_insns = (uint64_t)(period_ns / watch.tick_ns) + 1;
	next_sample_ns = watch.sample_ns;
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
	if (!watch_path || !out_path || !info->system_emulation || info->system.max_vcpus != 1) {
		fputs("bootscope plugin: needs watch=FILE, out=FILE and a machine with one CPU\n", stderr);
		return 1;
	}
	if (!install(watch_path, out_path))
		return 1;
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
