// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "timing_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (1u << 18)
#define MOST (SLOTS / 4 * 3)

static struct {
	struct bs_counted *blocks; /* a hash table */
	struct bs_counted rest;	   /* what found no room in it */
	uint64_t used, events, noted, entries;
	uint64_t before[BS_COUNTS]; /* at the entry before */
	FILE *series, *parts;
	char *series_text, *parts_text;
	size_t series_size, parts_size;
	const uint64_t *part;
	size_t n_parts, next_part;
	const struct bs_counted **sorted;
} f;

bool bs_timing_file_init(const uint64_t *parts, size_t n)
{
	f.blocks = calloc(SLOTS, sizeof(*f.blocks));
	f.sorted = calloc(MOST + 1, sizeof(const struct bs_counted *));
	f.series = open_memstream(&f.series_text, &f.series_size);
	f.parts = open_memstream(&f.parts_text, &f.parts_size);
	f.part = parts;
	f.n_parts = n;
	return f.blocks && f.sorted && f.series && f.parts;
}

struct bs_counted *bs_timing_file_block(uint64_t vaddr, uintptr_t page, int64_t now_ns)
{
	size_t at = (vaddr * 0x9e3779b97f4a7c15u ^ page * 0xc2b2ae3d27d4eb4fu) >> 40 & (SLOTS - 1);

	while (f.blocks[at].used) {
		if (f.blocks[at].vaddr == vaddr && f.blocks[at].page == page)
			return &f.blocks[at];
		at = (at + 1) % SLOTS;
	}
	if (f.used == MOST)
		return &f.rest;
	f.used++;
	f.blocks[at] = (struct bs_counted){.vaddr = vaddr, .page = page, .first_ns = now_ns, .used = true};
	return &f.blocks[at];
}

static void put(FILE *to, uint64_t value)
{
	while (value >= 0x80) {
		putc_unlocked((int)(value & 0x7f) | 0x80, to);
		value >>= 7;
	}
	putc_unlocked((int)value, to);
}

static void put_counts(FILE *to, const uint64_t *counts)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < BS_COUNTS; i++)
		mask |= (uint64_t)!!counts[i] << i;
	put(to, mask);
	for (unsigned int i = 0; i < BS_COUNTS; i++)
		if (counts[i])
			put(to, counts[i]);
}

static void note(const uint64_t counts[BS_COUNTS], bool sample)
{
	uint64_t since[BS_COUNTS];

	for (unsigned int i = 0; i < BS_COUNTS; i++)
		since[i] = counts[i] - f.before[i];
	memcpy(f.before, counts, sizeof(f.before));
	put(f.series, (f.events - f.noted) << 1 | sample);
	put_counts(f.series, since);
	f.noted = f.events;
	f.entries++;
}

static int by_address(const void *a, const void *b)
{
	const struct bs_counted *x = *(const struct bs_counted *const *)a;
	const struct bs_counted *y = *(const struct bs_counted *const *)b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

static void put_block(const struct bs_counted *b, uint64_t last)
{
	put(f.parts, b->vaddr - last);
	put(f.parts, b->first_ns < 0 ? 0 : (uint64_t)b->first_ns);
	put(f.parts, b->insns);
	put_counts(f.parts, b->own);
}

static bool is_idle(const struct bs_counted *b)
{
	for (unsigned int i = 0; i < BS_COUNTS; i++)
		if (b->own[i])
			return false;
	return !b->insns;
}

static void end_part(void)
{
	size_t n = 0;
	uint64_t last = 0;

	for (size_t i = 0; i < SLOTS; i++)
		if (f.blocks[i].used && !is_idle(&f.blocks[i]))
			f.sorted[n++] = &f.blocks[i];
	qsort(f.sorted, n, sizeof(*f.sorted), by_address);
	bool rest = !is_idle(&f.rest);
	put(f.parts, n + rest);
	if (rest)
		put_block(&f.rest, 0);
	for (size_t i = 0; i < n; i++) {
		put_block(f.sorted[i], last);
		last = f.sorted[i]->vaddr;
	}
	for (size_t i = 0; i < SLOTS; i++) {
		f.blocks[i].insns = 0;
		memset(f.blocks[i].own, 0, sizeof(f.blocks[i].own));
	}
	f.rest = (struct bs_counted){.vaddr = 0};
}

void bs_timing_file_sample(const uint64_t counts[BS_COUNTS])
{
	note(counts, true);
}

void bs_timing_file_event(const uint64_t counts[BS_COUNTS], bool exact)
{
	/* Events are numbered from 0. */
	bool begins = f.next_part < f.n_parts && f.events == f.part[f.next_part];

	f.events++;
	if ((exact || begins) && memcmp(counts, f.before, sizeof(f.before)))
		note(counts, false);
	if (begins) {
		f.next_part++;
		end_part();
	}
}

size_t bs_timing_file_part(void)
{
	return f.next_part;
}

static void put_all(FILE *to)
{
	fwrite("BSCOUNT1", 8, 1, to);
	put(to, BS_COUNTS);
	put(to, f.entries);
	put(to, f.next_part + 1);
	fwrite(f.series_text, f.series_size, 1, to);
	fwrite(f.parts_text, f.parts_size, 1, to);
}

void bs_timing_file_write(const char *path)
{
	char *part;

	end_part();
	if (fclose(f.series) || fclose(f.parts) || asprintf(&part, "%s.part", path) < 0) {
		fputs("bootscope plugin: no memory for what was counted\n", stderr);
		return;
	}
	FILE *to = fopen(part, "we");
	if (to)
		put_all(to);
	bool good = to && !ferror(to);
	if ((to && fclose(to)) || !good || rename(part, path))
		fprintf(stderr, "bootscope plugin: cannot write %s: %s\n", path, strerror(errno));
	free(part);
}
