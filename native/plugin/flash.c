// SPDX-License-Identifier: GPL-2.0-or-later
#include "flash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "control.h"
#include "record.h"
#include "watch.h"

static struct {
	bool open;
	uint64_t begin, next, accesses; /* bytes from the beginning of the flash */
	int64_t last_ns;
} run;

static struct bs_flash *flash;
static const struct bs_control *control; /* NULL: what can be cached is */
static struct bs_range window; /* virtual addresses of data that can be cached */

/* Of an instruction that lies in flash: kept for as long as QEMU may run it. */
struct fetch {
	uint64_t at;
	uint32_t bytes, rest;
};

bool bs_flash_code_known(void)
{
	if (memory_region_from_host && memory_region_name)
		return true;
	fputs("bootscope plugin: this QEMU does not tell a plugin which code lies in flash\n", stderr);
	return false;
}

static void on_control(const struct bs_control *now, bool changed)
{
	/* Software that switches a cache off throws out what is in it. */
	if (changed && !now->data)
		bs_cache_empty(&flash->data);
	if (changed && !now->code)
		bs_cache_empty(&flash->code);
}

bool bs_flash_init(struct bs_watch *w)
{
	flash = &w->flash;
	if (!flash->n_windows)
		window.end = UINT64_MAX;
	if (flash->switched)
		control = bs_control_follow(w, on_control);
	return control || !flash->switched;
}

void bs_flash_hook(uint32_t id)
{
	for (size_t i = 0; i < flash->n_windows; i++)
		if (flash->windows[i].hook == id)
			window = flash->windows[i].range;
}

void bs_flash_stored(uint64_t phys, uint64_t value)
{
	if (phys != flash->second_control)
		return;
	flash->second_on = value & flash->second_bit;
	if (!flash->second_on)
		bs_cache_empty(&flash->second);
}

void bs_flash_done(void)
{
	struct bs_payload p = {.size = 0};

	if (!run.open)
		return;
	bs_put_uint(&p, flash->io->id);
	bs_put_uint(&p, run.begin);
	bs_put_uint(&p, run.next - run.begin);
	bs_put_uint(&p, run.accesses);
	run.open = false;
	bs_record(BS_REC_READ, run.last_ns, &p);
}

static void accessed(uint64_t at, uint64_t bytes, int64_t now_ns)
{
	uint64_t bus = flash->bus_bytes;

	if (!run.open || run.next != at) {
		bs_flash_done();
		run.open = true;
		run.begin = at;
		run.accesses = 0;
	}
	run.next = at + bytes;
	run.accesses += (at + bytes - 1) / bus - at / bus + 1;
	run.last_ns = now_ns;
}

/* Whether a cache has the line; it has from now on. */
static bool held(struct bs_cache *cache, uint64_t line)
{
	uint64_t victim;

	if (bs_cache_find(cache, line) != BS_NO_SLOT)
		return true;
	bs_cache_put(cache, line, false, &victim);
	return false;
}

static void line_wanted(struct bs_cache *cache, uint64_t line, int64_t now_ns)
{
	if (held(cache, line) || (flash->second_on && held(&flash->second, line)))
		return;
	accessed(line << cache->line_shift, UINT64_C(1) << cache->line_shift, now_ns);
}

static bool data_cached(uint64_t vaddr)
{
	bool on = flash->cached && (!control || control->data);

	return on && vaddr < flash->uncached && vaddr >= window.start && vaddr < window.end;
}

static void loaded(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t phys = hw ? qemu_plugin_hwaddr_phys_addr(hw) : 0;

	(void)vcpu;
	if (!hw || phys < flash->io->start || phys >= flash->io->end)
		return;
	uint64_t at = phys - flash->io->start, bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
	int64_t now_ns = bs_clock_now((uintptr_t)udata);
	if (!data_cached(vaddr) || qemu_plugin_hwaddr_is_io(hw)) {
		accessed(at, bytes, now_ns);
		return;
	}
	uint32_t shift = flash->data.line_shift;
	for (uint64_t line = at >> shift; line <= (at + bytes - 1) >> shift; line++)
		line_wanted(&flash->data, line, now_ns);
}

static void fetched(unsigned int vcpu, void *udata)
{
	const struct fetch *f = udata;

	(void)vcpu;
	if (!control || control->code)
		line_wanted(&flash->code, f->at >> flash->code.line_shift, bs_clock_now(f->rest));
	else
		accessed(f->at, f->bytes, bs_clock_now(f->rest));
}

static const struct fetch *new_fetch(uint64_t at, size_t bytes, size_t rest)
{
	static struct fetch *block;
	static size_t left;

	if (!left) {
		left = 4096;
		block = calloc(left, sizeof(*block));
		if (!block)
			abort();
	}
	struct fetch *f = &block[--left];
	*f = (struct fetch){at, (uint32_t)bytes, (uint32_t)rest};
	return f;
}

static void see_fetch(struct qemu_plugin_insn *insn, size_t rest)
{
	uint64_t at;
	void *host = qemu_plugin_insn_haddr(insn);
	const void *region = host ? memory_region_from_host(host, &at) : NULL;
	const char *name = region ? memory_region_name(region) : NULL;

	if (name && !strcmp(name, flash->region))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, fetched, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)new_fetch(at, qemu_plugin_insn_size(insn), rest));
}

void bs_flash_translated(struct qemu_plugin_insn *insn, size_t rest)
{
	qemu_plugin_register_vcpu_mem_cb(insn, loaded, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_R,
					 (void *)(uintptr_t)rest);
	if (flash->cached)
		see_fetch(insn, rest);
}
