// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>

#include "classes.h"
#include "clock.h"
#include "config_space.h"
#include "control.h"
#include "cpus.h"
#include "hierarchy.h"
#include "opcode.h"
#include "polls.h"
#include "qemu_api.h"
#include "timing_file.h"

#define FILTER 1024u
#define ALIGNED 3u /* bits of addresses that are 0 where accesses of any size are aligned well enough */
#define FETCH_SHIFT 5 /* uncached code comes in blocks of 32 bytes */
#define SURE_BYTES (1u << 20) /* of memory whose beginning other memory may hide while the board starts */

/* A block as it was translated, for as long as QEMU may run it. */
struct run {
	struct bs_counted *block;
	struct bs_branch end;
	uint64_t vaddr, page, chunks;
	uint32_t insns, n_lines, tlb_slot;
	bool in_memory, has_classes;
	uint8_t classes[BS_N_CLASSES];
	struct line {
		uint64_t address;
		uint32_t slot;
	} lines[];
};

/* Data lines that were found in L1 lately, by their virtual address: hits need no translation. */
struct recent {
	uint64_t line, physical, page;
	uint32_t slot, tlb_slot, age;
};

static struct {
	const struct bs_timing *watch;
	struct bs_hierarchy h;
	struct bs_branches branches;
	struct recent recent[FILTER];
	uint32_t age; /* entries of `recent` that are older do not count */
	uint64_t stored_line; /* virtual; the last one that went past L1 */
	struct run *last;
	uint64_t last_line, serial;
	const struct bs_control *control;
	uintptr_t memory_host; /* what to take off a host address for a physical one; 0: not known yet */
	bool memory_sure;
	struct {
		uint64_t insn, serial, next;
		bool store;
	} burst;
} t;

/* ---- what the software switches ---- */

/* What is on: what the software has switched, unless it is thought of otherwise in this part of the boot. */
static void set_switches(void)
{
	bool data = t.control->data, code = t.control->code, translates = t.control->translates;

	for (size_t i = 0; i < t.watch->n_switched; i++) {
		const struct bs_switched *s = &t.watch->switched[i];

		if (s->part != bs_timing_file_part())
			continue;
		data = s->data == BS_AS_IS ? data : s->data == BS_ON;
		code = s->code == BS_AS_IS ? code : s->code == BS_ON;
		/* Data is cached by what a page says, so that there are pages. */
		translates |= s->data == BS_ON && t.watch->control_bits[0];
	}
	bs_hierarchy_switch(&t.h, data, code, translates);
}

static void on_control(const struct bs_control *now, bool changed)
{
	(void)now;
	t.age++;
	t.stored_line = BS_NO_LINE;
	if (changed)
		set_switches();
}

/* ---- data ---- */

static bool inside(const struct bs_range *ranges, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (address >= ranges[i].start && address < ranges[i].end)
			return true;
	return false;
}

/* The page of an address, told apart from others of the same address in other address spaces. */
static uint64_t page_of(uint64_t vaddr, uint64_t physical)
{
	bool large = vaddr == physical || inside(t.watch->large, t.watch->n_large, vaddr);
	uint32_t shift = large && t.watch->large_shift ? t.watch->large_shift : 12;

	return (vaddr >> shift & 0xffffffffff) | (physical >> shift & 0x7fffff) << 40 | (uint64_t)large << 63;
}

/*
 * A loop that asks a device until it is ready takes as long as that takes, whatever an access costs. Where the
 * guest's own clock passes with the costs, the device sees to that.
 */
static void device(uint64_t address, bool store)
{
	int64_t waited_ns;

	if (store) {
		bs_count(&t.h, BS_DEVICE_STORE);
		bs_polls_forget();
	} else if (!t.watch->price.used && bs_polls_again(address, bs_clock_now(0), &waited_ns)) {
		t.h.counts[BS_POLLED_NS] += (uint64_t)waited_ns;
		t.h.own[BS_POLLED_NS] += (uint64_t)waited_ns;
	} else {
		bs_count(&t.h, BS_DEVICE_LOAD);
	}
}

/* Whether an access begins where the last one of the same instruction ended: both are one burst. */
static bool goes_on(uint64_t address, uint64_t size, uint64_t insn, bool store)
{
	bool same = t.burst.insn == insn && t.burst.serial == t.serial && t.burst.next == address &&
		    t.burst.store == store;

	t.burst.insn = insn;
	t.burst.serial = t.serial;
	t.burst.next = address + size;
	t.burst.store = store;
	return same;
}

/* Accesses that no cache can answer; false for all others. */
static bool past_caches(uint64_t physical, uint64_t size, uint64_t insn, bool store)
{
	const struct bs_range *memory = &t.watch->memory;

	if (physical < memory->start || physical >= memory->end) {
		bs_count(&t.h, BS_SRAM);
		return true;
	}
	if (t.h.caches_data && !inside(t.watch->uncached, t.watch->n_uncached, physical))
		return false;
	if (!goes_on(physical, size, insn, store))
		bs_count(&t.h, store ? BS_UNCACHED_STORE : BS_UNCACHED_LOAD);
	return true;
}

static void access(qemu_plugin_meminfo_t info, uint64_t vaddr, uint64_t insn, bool store)
{
	/* Where such a store went must not be asked; it is one to a device. */
	if (store && bs_config_page(vaddr)) {
		device(0, store);
		return;
	}
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hw)
		return;
	uint64_t physical = qemu_plugin_hwaddr_phys_addr(hw);
	if (qemu_plugin_hwaddr_is_io(hw)) {
		device(physical, store);
		return;
	}
	if (past_caches(physical, (uint64_t)1 << qemu_plugin_mem_size_shift(info), insn, store))
		return;
	uint64_t line = vaddr >> t.h.data.line_shift, page = page_of(vaddr, physical);
	uint32_t tlb_slot = t.h.translates ? bs_hierarchy_page(&t.h, page, false) : 0;
	bool allocates = !t.watch->flat_passes || physical != vaddr;
	uint32_t slot = store ? bs_hierarchy_store(&t.h, physical, allocates) : bs_hierarchy_load(&t.h, physical);
	if (slot == BS_NO_SLOT) {
		t.stored_line = line;
		return;
	}
	if (line == t.stored_line)
		t.stored_line = BS_NO_LINE;
	t.recent[line % FILTER] = (struct recent){.line = line, .physical = physical >> t.h.data.line_shift,
						  .page = page, .slot = slot, .tlb_slot = tlb_slot, .age = t.age};
}

/* Whether line and page are where they were found before. */
static bool is_recent(const struct recent *r, uint64_t line)
{
	return r->line == line && r->age == t.age && t.h.data.tag[r->slot] == r->physical &&
	       (!t.h.translates || t.h.data_tlb.tag[r->tlb_slot] == r->page);
}

/* An access that is not aligned and crosses a boundary which the core cannot cross in one go. */
static void look_for_split(qemu_plugin_meminfo_t info, uint64_t vaddr, bool store)
{
	uint64_t boundary = t.watch->split[store];

	if (boundary && (vaddr & (boundary - 1)) + (1u << qemu_plugin_mem_size_shift(info)) > boundary)
		bs_count(&t.h, store ? BS_SPLIT_STORE : BS_SPLIT_LOAD);
}

static void on_load(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	uint64_t line = vaddr >> t.h.data.line_shift;
	const struct recent *r = &t.recent[line % FILTER];

	(void)vcpu;
	t.h.counts[BS_LOADS]++;
	if (vaddr & ALIGNED)
		look_for_split(info, vaddr, false);
	if (!is_recent(r, line)) {
		access(info, vaddr, (uintptr_t)udata, false);
		return;
	}
	bs_cache_use(&t.h.data, r->slot);
	bs_cache_use(&t.h.data_tlb, r->tlb_slot);
}

static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	uint64_t line = vaddr >> t.h.data.line_shift;
	const struct recent *r = &t.recent[line % FILTER];

	(void)vcpu;
	t.h.counts[BS_STORES]++;
	if (vaddr & ALIGNED)
		look_for_split(info, vaddr, true);
	if (is_recent(r, line)) {
		t.h.data.dirty[r->slot] = true;
		bs_cache_use(&t.h.data, r->slot);
		bs_cache_use(&t.h.data_tlb, r->tlb_slot);
	} else if (line != t.stored_line) {
		access(info, vaddr, (uintptr_t)udata, true);
	}
}

/* ---- code ---- */

static void fetch_past_caches(struct run *r)
{
	bs_count_more(&t.h, r->in_memory ? BS_UNCACHED_FETCH : BS_SRAM, r->chunks);
	t.last_line = BS_NO_LINE;
}

static void fetch(struct run *r)
{
	for (uint32_t i = 0; i < r->n_lines; i++) {
		struct line *l = &r->lines[i];
		uint64_t number = l->address >> t.h.code.line_shift;

		if (number == t.last_line)
			continue;
		t.last_line = number;
		t.h.counts[BS_FETCHES]++;
		if (l->slot != BS_NO_SLOT && t.h.code.tag[l->slot] == number)
			bs_cache_use(&t.h.code, l->slot);
		else
			l->slot = bs_hierarchy_fetch(&t.h, l->address);
	}
	if (!t.h.translates)
		return;
	struct bs_cache *tlb = t.h.one_tlb ? &t.h.data_tlb : &t.h.code_tlb;
	if (r->tlb_slot != BS_NO_SLOT && tlb->tag[r->tlb_slot] == r->page)
		bs_cache_use(tlb, r->tlb_slot);
	else
		r->tlb_slot = bs_hierarchy_page(&t.h, r->page, true);
}

static void add_classes(const struct run *r)
{
	for (unsigned int i = 0; i < BS_N_CLASSES; i++)
		bs_count_more(&t.h, BS_CLASSES + i, r->classes[i]);
}

static void on_block(unsigned int vcpu, void *udata)
{
	struct run *r = udata;

	(void)vcpu;
	t.serial++;
	if (t.last) {
		bool taken, known = bs_branches_went(&t.branches, &t.last->end, r->vaddr, &taken);

		if (taken)
			bs_count(&t.h, BS_TAKEN);
		if (!known)
			bs_count(&t.h, BS_MISPREDICTED);
	}
	t.last = r;
	t.h.own = r->block->own;
	r->block->insns += r->insns;
	if (r->has_classes)
		add_classes(r);
	if (t.h.caches_code)
		fetch(r);
	else
		fetch_past_caches(r);
}

/* ---- translation ---- */

/*
 * The physical address of an instruction: QEMU tells only where it is in the host's memory. Before addresses
 * are translated both differ by the place of the board's memory there. Addresses outside of memory, or known
 * before that place is, are their own.
 */
static uint64_t physical_of(const struct qemu_plugin_insn *insn, uint64_t vaddr, bool *in_memory)
{
	const struct bs_range *memory = &t.watch->memory;
	uintptr_t host = (uintptr_t)qemu_plugin_insn_haddr(insn);
	bool within = vaddr >= memory->start && vaddr < memory->end;

	if (host && within && !t.control->translates && !t.memory_sure) {
		t.memory_host = host - (uintptr_t)vaddr;
		t.memory_sure = vaddr - memory->start >= SURE_BYTES;
	}
	uint64_t found = host && t.memory_host ? (uint64_t)(host - t.memory_host) : vaddr;
	*in_memory = found >= memory->start && found < memory->end;
	return *in_memory ? found : vaddr;
}

static const struct bs_watch *all;

/* The lines that a block's instructions lie in. */
static void find_lines(struct run *r, struct qemu_plugin_tb *tb)
{
	uint64_t line = BS_NO_LINE, chunk = BS_NO_LINE;

	for (uint32_t i = 0; i < r->insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t vaddr = qemu_plugin_insn_vaddr(insn);
		bool in_memory;
		uint64_t address = physical_of(insn, vaddr, &in_memory);

		if (!i) {
			r->in_memory = in_memory;
			r->page = page_of(vaddr, address);
		}
		if (address >> FETCH_SHIFT != chunk)
			r->chunks++;
		chunk = address >> FETCH_SHIFT;
		if (address >> t.h.code.line_shift != line)
			r->lines[r->n_lines++] = (struct line){address, BS_NO_SLOT};
		line = address >> t.h.code.line_shift;
	}
}

static struct run *new_run(struct qemu_plugin_tb *tb, struct bs_counted *block)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
	struct run *r = calloc(1, sizeof(*r) + n * sizeof(r->lines[0]));

	if (!r)
		abort();
	r->block = block;
	r->vaddr = qemu_plugin_tb_vaddr(tb);
	r->insns = (uint32_t)n;
	r->tlb_slot = BS_NO_SLOT;
	r->end.address = qemu_plugin_insn_vaddr(last);
	r->end.behind = r->end.address + qemu_plugin_insn_size(last);
	r->end.call = bs_opcode_is(all->call, all->n_call, last);
	find_lines(r, tb);
	bs_classes_count(&all->timing, tb, r->classes);
	for (unsigned int i = 0; i < BS_N_CLASSES; i++)
		r->has_classes |= r->classes[i];
	return r;
}

void bs_timing_block(struct qemu_plugin_tb *tb, int64_t now_ns)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	uintptr_t host = (uintptr_t)qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
	struct bs_counted *block = bs_timing_file_block(qemu_plugin_tb_vaddr(tb), host & ~(uintptr_t)0xfff, now_ns);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, new_run(tb, block));
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		void *vaddr = (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn);

		qemu_plugin_register_vcpu_mem_cb(insn, on_load, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_R, vaddr);
		qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W, vaddr);
	}
}

/* ---- the file ---- */

void bs_timing_record(enum bs_record type)
{
	if (!t.watch || t.watch->price.used || type == BS_REC_STACK || type == BS_REC_BYTES)
		return;
	if (type == BS_REC_SAMPLE) {
		bs_timing_file_sample(t.h.counts);
		return;
	}
	size_t part = bs_timing_file_part();
	bs_timing_file_event(t.h.counts, type != BS_REC_IO);
	if (part == bs_timing_file_part() || !t.watch->n_switched)
		return;
	t.age++;
	t.stored_line = BS_NO_LINE;
	set_switches();
}

const int64_t *bs_timing_waited_ps(void)
{
	return &t.h.waited_ps;
}

void bs_timing_write(void)
{
	if (t.watch && !t.watch->price.used)
		bs_timing_file_write(t.watch->path);
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
	t.h = (struct bs_hierarchy){.code = watch->cache[BS_CODE], .data = watch->cache[BS_DATA],
				    .second = watch->cache[BS_SECOND], .code_tlb = watch->cache[BS_CODE_TLB],
				    .data_tlb = watch->cache[BS_DATA_TLB], .has_second = watch->has[BS_SECOND],
				    .one_tlb = !watch->has[BS_CODE_TLB]};
	bs_hierarchy_start(&t.h, watch->price.used ? watch->price.event_ps : NULL);
	t.branches = watch->branches;
	bs_polls_init(w->tick_ns);
	t.last_line = t.stored_line = BS_NO_LINE;
	t.age = 1;
	t.control = bs_control_follow(w, on_control);
	all = w;
	t.watch = watch;
	if (!t.control || !bs_timing_file_init(watch->part, watch->n_parts))
		return false;
	set_switches();
	return true;
}
