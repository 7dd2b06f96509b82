// SPDX-License-Identifier: GPL-2.0-or-later
#include "timing_data.h"

#include "clock.h"
#include "config_space.h"
#include "opcode.h"
#include "polls.h"
#include "timing_pass.h"

#define FILTER 1024u
/* No memory has such addresses: */
#define PORTS (UINT64_C(1) << 63)
#define CPU_CLOCK (UINT64_C(1) << 62)
#define ALIGNED 3u /* bits of addresses that are 0 where accesses of any size are aligned well enough */

static struct bs_hierarchy *const h = &bs_pass.h;

/* Data lines that were found in L1 lately, by their virtual address: hits need no translation. */
struct recent {
	uint64_t line, physical, page;
	uint32_t slot, tlb_slot, age;
};

static struct {
	struct recent recent[FILTER];
	uint32_t age; /* entries of `recent` that are older do not count */
	uint64_t stored_line; /* virtual; the last one that went past L1 */
	struct {
		uint64_t insn, serial, next;
		bool store;
	} burst;
} d;

/*
 * A loop that asks a device until it is ready, or a clock until it is time, takes as long as that takes, whatever
 * an access costs. Where the guest's own clock passes with the costs, device and clock see to that.
 */
static bool asks_again(uint64_t address)
{
	int64_t waited_ns;

	if (bs_pass.watch->price.used || !bs_polls_again(address, bs_clock_now(0), &waited_ns))
		return false;
	h->counts[BS_POLLED_NS] += (uint64_t)waited_ns;
	h->own[BS_POLLED_NS] += (uint64_t)waited_ns;
	return true;
}

static void device(uint64_t address, bool store)
{
	if (store) {
		bs_count(h, BS_DEVICE_STORE);
		bs_polls_forget();
	} else if (!asks_again(address)) {
		bs_count(h, BS_DEVICE_LOAD);
	}
}

/* Whether an access begins where the last one of the same instruction ended: both are one burst. */
static bool goes_on(uint64_t address, uint64_t size, uint64_t insn, bool store)
{
	bool same = d.burst.insn == insn && d.burst.serial == bs_pass.serial && d.burst.next == address &&
		    d.burst.store == store;

	d.burst.insn = insn;
	d.burst.serial = bs_pass.serial;
	d.burst.next = address + size;
	d.burst.store = store;
	return same;
}

/* Accesses that no cache can answer; false for all others. */
static bool past_caches(uint64_t physical, uint64_t size, uint64_t insn, bool store)
{
	const struct bs_range *memory = &bs_pass.watch->memory;
	bool uncached = bs_in_ranges(bs_pass.watch->uncached, bs_pass.watch->n_uncached, physical);

	/* The memory of a display may be apart from the board's. */
	if (!uncached && (physical < memory->start || physical >= memory->end)) {
		bs_count(h, BS_SRAM);
		return true;
	}
	if (h->caches_data && !uncached)
		return false;
	if (h->caches_data && store && bs_pass.watch->write_combining) {
		bs_hierarchy_combine(h, physical);
		return true;
	}
	if (!goes_on(physical, size, insn, store))
		bs_count(h, store ? BS_UNCACHED_STORE : BS_UNCACHED_LOAD);
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
	uint64_t line = vaddr >> h->data.line_shift, page = bs_page_of(bs_pass.watch, vaddr, physical);
	uint32_t tlb_slot = h->translates ? bs_hierarchy_page(h, page, false) : 0;
	bool allocates = !bs_pass.watch->flat_passes || physical != vaddr;
	uint32_t slot = store ? bs_hierarchy_store(h, physical, allocates) : bs_hierarchy_load(h, physical);
	if (slot == BS_NO_SLOT) {
		d.stored_line = line;
		return;
	}
	if (line == d.stored_line)
		d.stored_line = BS_NO_LINE;
	d.recent[line % FILTER] = (struct recent){.line = line, .physical = physical >> h->data.line_shift,
						  .page = page, .slot = slot, .tlb_slot = tlb_slot, .age = d.age};
}

/* Whether line and page are where they were found before. */
static bool is_recent(const struct recent *r, uint64_t line)
{
	return r->line == line && r->age == d.age && h->data.tag[r->slot] == r->physical &&
	       (!h->translates || h->data_tlb.tag[r->tlb_slot] == r->page);
}

/* An access that is not aligned and crosses a boundary which the core cannot cross in one go. */
static void look_for_split(qemu_plugin_meminfo_t info, uint64_t vaddr, bool store)
{
	uint64_t boundary = bs_pass.watch->split[store];

	if (boundary && (vaddr & (boundary - 1)) + (1u << qemu_plugin_mem_size_shift(info)) > boundary)
		bs_count(h, store ? BS_SPLIT_STORE : BS_SPLIT_LOAD);
}

static void on_load(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	uint64_t line = vaddr >> h->data.line_shift;
	const struct recent *r = &d.recent[line % FILTER];

	(void)vcpu;
	h->counts[BS_LOADS]++;
	if (vaddr & ALIGNED)
		look_for_split(info, vaddr, false);
	if (!is_recent(r, line)) {
		access(info, vaddr, (uintptr_t)udata, false);
		return;
	}
	bs_cache_use(&h->data, r->slot);
	bs_cache_use(&h->data_tlb, r->tlb_slot);
}

static void on_store(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	uint64_t line = vaddr >> h->data.line_shift;
	const struct recent *r = &d.recent[line % FILTER];

	(void)vcpu;
	h->counts[BS_STORES]++;
	if (vaddr & ALIGNED)
		look_for_split(info, vaddr, true);
	if (is_recent(r, line)) {
		h->data.dirty[r->slot] = true;
		bs_cache_use(&h->data, r->slot);
		bs_cache_use(&h->data_tlb, r->tlb_slot);
	} else if (line != d.stored_line) {
		access(info, vaddr, (uintptr_t)udata, true);
	}
}

static void on_clock(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	asks_again(CPU_CLOCK);
}

void bs_timing_data_port(uint64_t port, bool store)
{
	device(PORTS | port, store);
}

void bs_timing_data_forget(void)
{
	d.age++;
	d.stored_line = BS_NO_LINE;
}

void bs_timing_data_start(int64_t tick_ns)
{
	bs_polls_init(tick_ns);
	bs_timing_data_forget();
}

void bs_timing_data_translated(struct qemu_plugin_insn *insn)
{
	void *vaddr = (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn);

	qemu_plugin_register_vcpu_mem_cb(insn, on_load, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_R, vaddr);
	qemu_plugin_register_vcpu_mem_cb(insn, on_store, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_W, vaddr);
	if (bs_opcode_is(bs_pass.watch->clock, bs_pass.watch->n_clock, insn))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_clock, QEMU_PLUGIN_CB_NO_REGS, NULL);
}
