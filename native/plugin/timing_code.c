// SPDX-License-Identifier: GPL-2.0-or-later
#include "timing_code.h"

#include <stdlib.h>

#include "classes.h"
#include "opcode.h"
#include "timing_file.h"
#include "timing_pass.h"

#define FETCH_SHIFT 5 /* uncached code comes in blocks of 32 bytes */
#define SURE_BYTES (1u << 20) /* of memory whose beginning other memory may hide while the board starts */

static struct bs_hierarchy *const h = &bs_pass.h;

/* A block as it was translated, for as long as QEMU may run it. */
struct run {
	struct bs_counted *block;
	struct bs_branch end;
	bool repeats; /* its last instruction, which begins the next block then */
	uint64_t vaddr, page, chunks;
	uint32_t insns, n_lines, tlb_slot;
	bool in_memory, has_classes;
	uint8_t classes[BS_N_CLASSES];
	struct line {
		uint64_t address;
		uint32_t slot;
	} lines[];
};

static struct {
	const struct bs_watch *watch;
	struct bs_branches branches;
	struct run *last;
	uint64_t last_line;
	uintptr_t memory_host; /* what to take off a host address for a physical one; 0: not known yet */
	bool memory_sure;
} c;

static void fetch_past_caches(struct run *r)
{
	bs_count_more(h, r->in_memory ? BS_UNCACHED_FETCH : BS_SRAM, r->chunks);
	c.last_line = BS_NO_LINE;
}

static void fetch(struct run *r)
{
	for (uint32_t i = 0; i < r->n_lines; i++) {
		struct line *l = &r->lines[i];
		uint64_t number = l->address >> h->code.line_shift;

		if (number == c.last_line)
			continue;
		c.last_line = number;
		h->counts[BS_FETCHES]++;
		if (l->slot != BS_NO_SLOT && h->code.tag[l->slot] == number)
			bs_cache_use(&h->code, l->slot);
		else
			l->slot = bs_hierarchy_fetch(h, l->address);
	}
	if (!h->translates)
		return;
	struct bs_cache *tlb = h->one_tlb ? &h->data_tlb : &h->code_tlb;
	if (r->tlb_slot != BS_NO_SLOT && tlb->tag[r->tlb_slot] == r->page)
		bs_cache_use(tlb, r->tlb_slot);
	else
		r->tlb_slot = bs_hierarchy_page(h, r->page, true);
}

static void add_classes(const struct run *r)
{
	for (unsigned int i = 0; i < BS_N_CLASSES; i++)
		bs_count_more(h, BS_CLASSES + i, r->classes[i]);
}

static void on_block(unsigned int vcpu, void *udata)
{
	struct run *r = udata;

	(void)vcpu;
	bs_pass.serial++;
	if (c.last && !(c.last->repeats && r->vaddr == c.last->end.address)) {
		bool taken, known = bs_branches_went(&c.branches, &c.last->end, r->vaddr, &taken);

		if (taken)
			bs_count(h, BS_TAKEN);
		if (!known)
			bs_count(h, BS_MISPREDICTED);
	}
	c.last = r;
	h->own = r->block->own;
	r->block->insns += r->insns;
	if (r->has_classes)
		add_classes(r);
	if (h->caches_code)
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
	const struct bs_range *memory = &bs_pass.watch->memory;
	uintptr_t host = (uintptr_t)qemu_plugin_insn_haddr(insn);
	bool within = vaddr >= memory->start && vaddr < memory->end;

	if (host && within && !bs_pass.control->translates && !c.memory_sure) {
		c.memory_host = host - (uintptr_t)vaddr;
		c.memory_sure = vaddr - memory->start >= SURE_BYTES;
	}
	uint64_t found = host && c.memory_host ? (uint64_t)(host - c.memory_host) : vaddr;
	*in_memory = found >= memory->start && found < memory->end;
	return *in_memory ? found : vaddr;
}

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
			r->page = bs_page_of(bs_pass.watch, vaddr, address);
		}
		if (address >> FETCH_SHIFT != chunk)
			r->chunks++;
		chunk = address >> FETCH_SHIFT;
		if (address >> h->code.line_shift != line)
			r->lines[r->n_lines++] = (struct line){address, BS_NO_SLOT};
		line = address >> h->code.line_shift;
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
	r->end.call = bs_opcode_is(c.watch->call, c.watch->n_call, last);
	r->repeats = bs_opcode_repeats(c.watch, last);
	find_lines(r, tb);
	bs_classes_count(bs_pass.watch, tb, r->classes);
	for (unsigned int i = 0; i < BS_N_CLASSES; i++)
		r->has_classes |= r->classes[i];
	return r;
}

void bs_timing_code_start(const struct bs_watch *w)
{
	c.watch = w;
	c.branches = w->timing.branches;
	c.last_line = BS_NO_LINE;
}

void bs_timing_code_translated(struct qemu_plugin_tb *tb, int64_t now_ns)
{
	uintptr_t host = (uintptr_t)qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
	struct bs_counted *block = bs_timing_file_block(qemu_plugin_tb_vaddr(tb), host & ~(uintptr_t)0xfff, now_ns);

	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, new_run(tb, block));
}
