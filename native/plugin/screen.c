// SPDX-License-Identifier: GPL-2.0-or-later
#include "screen.h"

#include "clock.h"
#include "frame.h"
#include "light.h"
#include "place.h"
#include "record.h"
#include "run.h"

static const struct bs_watch *watch;
static uint32_t frame_number;

bool bs_screen_init(const struct bs_watch *w)
{
	watch = w;
	return !w->frame.used || bs_frame_init(&w->frame);
}

static void on_light(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	const struct bs_place *at = udata;
	struct bs_payload p = {.size = 0};
	uint64_t offset;

	(void)vcpu;
	if (!bs_light_store(&watch->light, info, vaddr, &offset))
		return;
	int64_t now_ns = bs_clock_now(at->rest);
	bs_put_uint(&p, watch->light.id);
	bs_put_uint(&p, offset);
	bs_put_uint(&p, at->vaddr);
	bs_record(BS_REC_LIGHT, now_ns, &p);
	if (watch->light.stop)
		bs_run_end(BS_END_STOP_LIGHT, watch->light.id, now_ns);
}

static void frame_record(enum bs_record type, int64_t now_ns, uint64_t pc, bool copied)
{
	struct bs_payload p = {.size = 0};

	bs_put_uint(&p, watch->frame.id);
	bs_put_uint(&p, frame_number);
	bs_put_byte(&p, copied);
	bs_put_uint(&p, pc);
	bs_record(type, now_ns, &p);
}

static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	const struct bs_place *at = udata;
	const struct bs_frame *f = &watch->frame;
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t phys = hw ? qemu_plugin_hwaddr_phys_addr(hw) : 0;

	(void)vcpu;
	if (f->waits || phys < f->start || phys >= f->start + f->size)
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
		bs_run_end(BS_END_STOP_FRAME, f->id, now_ns);
}

static bool in_watched_code(uint64_t vaddr)
{
	for (size_t i = 0; i < watch->n_code; i++)
		if (vaddr >= watch->code[i].start && vaddr < watch->code[i].end)
			return true;
	return false;
}

void bs_screen_translated(struct qemu_plugin_insn *insn, uint64_t vaddr, size_t rest)
{
	if (watch->light.used)
		qemu_plugin_register_vcpu_mem_cb(insn, on_light, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, bs_place_new(vaddr, rest, NULL));
	if (watch->frame.used && in_watched_code(vaddr))
		qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_W, bs_place_new(vaddr, rest, NULL));
}
