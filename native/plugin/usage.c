// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "watch.h"

#define SLOTS (1u << 18)
#define MOST (SLOTS / 4 * 3)

struct block {
	uint64_t vaddr;
	uintptr_t page; /* two programs may have the same address, but not the same memory */
	int64_t first_ns;
	uint32_t insns;
	bool used;
	uint64_t stage[BS_MAX_STAGES];
	uint64_t own;
};

static struct {
	const char *path;
	struct block *blocks; /* a hash table; a block's counter has the same number */
	uint64_t used, lost;
	unsigned int stage;
	struct qemu_plugin_scoreboard *score, *owns;
	bool cpu_owns[BS_MAX_CPUS]; /* in its place where there are several */
} use;

bool bs_usage_init(const char *path)
{
	use.path = path;
	use.blocks = calloc(SLOTS, sizeof(*use.blocks));
	use.score = qemu_plugin_scoreboard_new(SLOTS * sizeof(uint64_t));
	use.owns = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	return use.blocks && use.score && use.owns;
}

/* The slot of a block, new or not; SLOTS when the table is full. */
static size_t slot_of(uint64_t vaddr, uintptr_t page)
{
	size_t at = (vaddr * 0x9e3779b97f4a7c15u ^ page * 0xc2b2ae3d27d4eb4fu) >> 40 & (SLOTS - 1);

	while (use.blocks[at].used) {
		if (use.blocks[at].vaddr == vaddr && use.blocks[at].page == page)
			return at;
		at = (at + 1) % SLOTS;
	}
	return use.used < MOST ? at : SLOTS;
}

/* A block begins, on one of several CPUs. */
static void on_block(unsigned int vcpu, void *udata)
{
	struct block *b = udata;

	(void)vcpu;
	b->stage[use.stage]++;
	b->own += use.cpu_owns[bs_cpu()];
}

static void on_own_block(unsigned int vcpu, void *udata)
{
	struct block *b = udata;

	(void)vcpu;
	b->own++;
}

void bs_usage_block(struct qemu_plugin_tb *tb, int64_t now_ns)
{
	uint64_t vaddr = qemu_plugin_tb_vaddr(tb);
	uintptr_t host = (uintptr_t)qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
	size_t at = slot_of(vaddr, host & ~(uintptr_t)0xfff);
	uint32_t insns = (uint32_t)qemu_plugin_tb_n_insns(tb);

	if (at == SLOTS) {
		use.lost++;
		return;
	}
	struct block *b = &use.blocks[at];
	if (!b->used) {
		*b = (struct block){.vaddr = vaddr, .page = host & ~(uintptr_t)0xfff, .first_ns = now_ns};
		b->used = true;
		use.used++;
	}
	/* Translated again it may be shorter or longer. */
	if (insns > b->insns)
		b->insns = insns;
	if (!bs_cpus_one()) {
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, b);
		return;
	}
	qemu_plugin_u64 counter = {.score = use.score, .offset = at * sizeof(uint64_t)};
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, counter, 1);
	/* Rare enough for a callback, and then no count has to be moved whenever the owner changes. */
	qemu_plugin_u64 owns = {.score = use.owns, .offset = 0};
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_own_block, QEMU_PLUGIN_CB_NO_REGS,
						  QEMU_PLUGIN_COND_EQ, owns, 1, b);
}

void bs_usage_owner(bool owns)
{
	if (use.blocks && !bs_cpus_one())
		use.cpu_owns[bs_cpu()] = owns;
	else if (use.blocks)
		*(uint64_t *)qemu_plugin_scoreboard_find(use.owns, 0) = owns;
}

/* Moves what the counters say into the stage that it belongs to. */
static void collect(void)
{
	uint64_t *counts = qemu_plugin_scoreboard_find(use.score, 0);

	for (size_t i = 0; i < SLOTS; i++) {
		use.blocks[i].stage[use.stage] += counts[i];
		counts[i] = 0;
	}
}

void bs_usage_stage(void)
{
	if (!use.blocks || use.stage + 1 == BS_MAX_STAGES)
		return;
	collect();
	use.stage++;
}

static int by_address(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

static void put(FILE *f, uint64_t value)
{
	while (value >= 0x80) {
		putc_unlocked((int)(value & 0x7f) | 0x80, f);
		value >>= 7;
	}
	putc_unlocked((int)value, f);
}

static void put_all(FILE *f, const struct block *sorted)
{
	uint64_t last = 0;

	fwrite("BSUSAGE1", 8, 1, f);
	put(f, use.stage + 1);
	put(f, use.used);
	put(f, use.lost);
	for (size_t i = 0; i < use.used; i++) {
		const struct block *b = &sorted[i];

		put(f, b->vaddr - last);
		put(f, b->insns);
		put(f, b->first_ns < 0 ? 0 : (uint64_t)b->first_ns);
		for (unsigned int s = 0; s <= use.stage; s++)
			put(f, b->stage[s]);
		put(f, b->own);
		last = b->vaddr;
	}
}

void bs_usage_write(void)
{
	char part[BS_PATH_BYTES + 8];
	size_t n = 0;

	if (!use.blocks)
		return;
	collect();
	struct block *sorted = calloc(use.used + 1, sizeof(*sorted));
	for (size_t i = 0; sorted && i < SLOTS; i++)
		if (use.blocks[i].used)
			sorted[n++] = use.blocks[i];
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), by_address);
	snprintf(part, sizeof(part), "%s.part", use.path);
	FILE *f = sorted ? fopen(part, "we") : NULL;
	if (f)
		put_all(f, sorted);
	bool good = f && !ferror(f);
	if ((f && fclose(f)) || !good || rename(part, use.path))
		fprintf(stderr, "bootscope plugin: cannot write %s: %s\n", use.path, strerror(errno));
	free(sorted);
}
