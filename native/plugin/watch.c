// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "flash.h"
#include "registers.h"
#include "virtio_disk.h"
#include "watch_line.h"
#include "watch_port.h"
#include "watch_classes.h"
#include "watch_timing.h"

static bool add_io(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];

	if (w->n_io == BS_MAX_IO || l->n != 4 || !bs_numbers(l, 1, 3, v) || !v[2] || v[1] + v[2] < v[1])
		return false;
	w->io[w->n_io++] = (struct bs_io){.id = (uint32_t)v[0], .start = v[1], .end = v[1] + v[2]};
	return true;
}

static bool set_disk(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t id;

	if (l->n != 2 || !bs_number(l->word[1], &id))
		return false;
	for (size_t i = 0; i < w->n_io; i++)
		if (w->io[i].id == id)
			return w->io[i].disk = bs_disk_init();
	return false;
}

static bool set_flash(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (w->flash.io || l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[1] || !bs_cpus_one())
		return false;
	for (size_t i = 0; i < w->n_io; i++)
		if (w->io[i].id == v[0])
			w->flash.io = &w->io[i];
	w->flash.bus_bytes = v[1];
	return w->flash.io;
}

static bool set_flash_cache(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_flash *f = &w->flash;
	uint64_t v[4];

	if (!f->io || f->cached || l->n != 6 || !bs_numbers(l, 1, 4, v) || v[1] > UINT32_MAX || v[2] > UINT32_MAX ||
	    strlen(l->word[5]) >= sizeof(f->region))
		return false;
	f->uncached = v[3];
	strcpy(f->region, l->word[5]);
	f->cached = bs_cache_make(&f->code, v[0], (uint32_t)v[1], (uint32_t)v[2], BS_LRU, false) &&
		    bs_cache_make(&f->data, v[0], (uint32_t)v[1], (uint32_t)v[2], BS_LRU, false);
	return f->cached && bs_flash_code_known();
}

static bool set_flash_switched(struct bs_watch *w, const struct bs_line *l)
{
	if (!w->flash.cached || l->n != 1)
		return false;
	return w->flash.switched = true;
}

static bool set_flash_second(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_flash *f = &w->flash;
	uint64_t v[4];

	if (!f->cached || f->has_second || l->n != 5 || !bs_numbers(l, 1, 4, v) || v[1] > UINT32_MAX)
		return false;
	f->second_control = v[2];
	f->second_bit = v[3];
	f->has_second = bs_cache_make(&f->second, v[0], (uint32_t)v[1], 1u << f->code.line_shift, BS_LRU, false);
	return f->has_second;
}

static bool add_flash_window(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];
	struct bs_flash *f = &w->flash;

	if (!f->cached || f->n_windows == BS_MAX_WINDOWS || l->n != 4 || !bs_numbers(l, 1, 3, v) || v[1] > v[2])
		return false;
	f->windows[f->n_windows++] = (struct bs_window){(uint32_t)v[0], {v[1], v[2]}};
	return true;
}

static bool set_config(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (w->config.end || l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[1] || v[0] + v[1] < v[0])
		return false;
	w->config = (struct bs_range){v[0], v[0] + v[1]};
	return true;
}

static bool add_text(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];
	struct bs_text *t = &w->text[w->n_text];

	if (w->n_text == BS_MAX_TEXT || l->n != 5 || !bs_numbers(l, 1, 3, v))
		return false;
	t->id = (uint32_t)v[0];
	t->io = (uint32_t)v[1];
	t->offset = v[2];
	if (!bs_hex_bytes(l->word[4], t->bytes, &t->size))
		return false;
	w->n_text++;
	return true;
}

static bool add_range(struct bs_range *ranges, size_t *n, const struct bs_line *l)
{
	uint64_t v[2];

	if (*n == BS_MAX_CODE || l->n != 3 || !bs_numbers(l, 1, 2, v) || v[0] >= v[1])
		return false;
	ranges[(*n)++] = (struct bs_range){v[0], v[1]};
	return true;
}

static bool add_stack(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[0] || v[0] > INT64_MAX || v[1] > BS_MAX_STACK_BYTES)
		return false;
	w->stack = (struct bs_stack){.period_ns = (int64_t)v[0], .bytes = (uint32_t)v[1]};
	return true;
}

static bool add_frame(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[4];
	struct bs_frame *f = &w->frame;

	if (f->used || l->n != 6 || !bs_numbers(l, 1, 4, v) || !v[3] || v[2] % v[3])
		return false;
	if (strlen(l->word[5]) >= sizeof(f->path))
		return false;
	*f = (struct bs_frame){.used = true, .id = (uint32_t)v[0], .start = v[1], .size = v[2],
			       .cell = (uint32_t)v[3]};
	strcpy(f->path, l->word[5]);
	return true;
}

static bool set_light(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[5];

	if (w->light.used || l->n != 6 || !bs_numbers(l, 1, 5, v) || !v[2] || v[1] + v[2] < v[1] || !v[3] ||
	    v[3] > sizeof(uint64_t) || !v[4])
		return false;
	w->light = (struct bs_light){.used = true, .id = (uint32_t)v[0], .start = v[1], .size = v[2],
				     .cell = (uint32_t)v[3], .colour = v[4]};
	return true;
}

static bool set_begins(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t id;

	if (l->n != 2 || !bs_number(l->word[1], &id) || !w->frame.used)
		return false;
	for (size_t i = 0; i < w->n_hooks; i++)
		if (w->hooks[i].id == id)
			w->hooks[i].frame = w->frame.waits = true;
	return w->frame.waits;
}

static bool add_pattern(struct bs_opcode *patterns, size_t *n, const struct bs_line *l)
{
	uint64_t v[3];

	/* Opcodes are compared as one word; no instruction is of no bytes. */
	if (*n == BS_MAX_IDLE || l->n != 4 || !bs_numbers(l, 1, 3, v) || !v[0] || v[0] > sizeof(uint64_t))
		return false;
	patterns[(*n)++] = (struct bs_opcode){(uint32_t)v[0], v[1], v[2]};
	return true;
}

static bool set_word(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !bs_numbers(l, 1, 2, v) || (v[0] != 4 && v[0] != 8))
		return false;
	w->word_bytes = (uint32_t)v[0];
	w->mode_bits = v[1];
	return true;
}

static bool set_segment(struct bs_watch *w, const struct bs_line *l)
{
	return l->n == 2 && bs_number(l->word[1], &w->segment_bytes);
}

static bool set_register(struct bs_watch *w, const struct bs_line *l)
{
	const struct {
		const char *name;
		uint8_t *number;
	} parts[] = {{"pc", &w->pc}, {"stack", &w->sp}, {"link", &w->link}, {"flags", &w->flags}};

	for (size_t i = 0; l->n == 3 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(l->word[1], parts[i].name))
			return bs_register_name(l->word[2], parts[i].number);
	return false;
}

static bool add_condition(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[1 + 2 * BS_MAX_TESTS];

	if (l->n < 4 || l->n % 2 || l->n > 2 + 2 * BS_MAX_TESTS || !bs_numbers(l, 1, l->n - 1, v) ||
	    v[0] >= BS_MAX_CONDITIONS)
		return false;
	struct bs_condition *c = &w->conditions[v[0]];
	c->n = (l->n - 2) / 2;
	for (size_t i = 0; i < c->n; i++) {
		c->test[i].mask = v[1 + 2 * i];
		c->test[i].value = v[2 + 2 * i];
	}
	return true;
}

static bool add_move(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[0])
		return false;
	w->move_hook = (uint32_t)v[0];
	w->move_from = v[1];
	return true;
}

static bool add_usage(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v;
	struct bs_usage *u = &w->usage;

	if (u->used || l->n != 3 || !bs_number(l->word[1], &v) || v > INT64_MAX)
		return false;
	if (strlen(l->word[2]) >= sizeof(u->path))
		return false;
	u->used = true;
	u->after_ns = (int64_t)v;
	strcpy(u->path, l->word[2]);
	return true;
}

static bool set_pause(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v;
	struct bs_pause *p = &w->pause;

	if (p->used || l->n != 3 || !bs_number(l->word[1], &v) || v > INT64_MAX)
		return false;
	if (strlen(l->word[2]) >= sizeof(p->path))
		return false;
	p->used = true;
	p->at_ns = (int64_t)v;
	strcpy(p->path, l->word[2]);
	return true;
}

static bool add_owner(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t start, now;
	struct bs_owner *o = &w->usage.owner;

	if (o->start_hook || l->n != 5 || !bs_number(l->word[1], &start) || !bs_number(l->word[3], &now))
		return false;
	o->start_hook = (uint32_t)start;
	o->switch_hook = (uint32_t)now;
	return start && now && bs_chain(l->word[2], &o->start) && bs_chain(l->word[4], &o->now) && o->start.n &&
	       o->now.n;
}

static bool add_stop(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t id;
	bool found = false;

	if (l->n != 3 || !bs_number(l->word[2], &id))
		return false;
	if (!strcmp(l->word[1], "frame") && w->frame.used && w->frame.id == id)
		w->frame.stop = found = true;
	if (!strcmp(l->word[1], "light") && w->light.used && w->light.id == id)
		w->light.stop = found = true;
	for (size_t i = 0; !strcmp(l->word[1], "hook") && i < w->n_hooks; i++)
		if (w->hooks[i].id == id)
			w->hooks[i].stop = found = true;
	for (size_t i = 0; !strcmp(l->word[1], "text") && i < w->n_text; i++)
		if (w->text[i].id == id)
			w->text[i].stop = found = true;
	return found;
}

static bool set_time(int64_t *to, const struct bs_line *l)
{
	uint64_t v;

	if (l->n != 2 || !bs_number(l->word[1], &v) || v > INT64_MAX)
		return false;
	*to = (int64_t)v;
	return true;
}

static bool set_tick(struct bs_watch *w, const struct bs_line *l)
{
	int64_t tick;

	if (!set_time(&tick, l) || tick <= 0 || tick >= 1000000)
		return false;
	w->tick_ns = (uint32_t)tick;
	return true;
}

static bool add_item(struct bs_watch *w, const struct bs_line *l)
{
	static const struct {
		const char *what;
		bool (*add)(struct bs_watch *w, const struct bs_line *l);
	} items[] = {
		{"tick", set_tick},	  {"word", set_word},	{"register", set_register},
		{"condition", add_condition}, {"io", add_io},	{"text", add_text},
		{"config", set_config},	  {"segment", set_segment}, {"disk", set_disk},
		{"flash", set_flash}, {"flash-cache", set_flash_cache},
		{"flash-switched", set_flash_switched}, {"flash-second", set_flash_second}, {"flash-window", add_flash_window},
		{"port", bs_watch_add_port}, {"ports", bs_watch_set_ports}, {"prefix", bs_watch_add_prefix},
		{"output", bs_watch_add_output}, {"outputs", bs_watch_add_outputs},
		{"hook", bs_watch_add_hook}, {"routine", bs_watch_add_routine}, {"move", add_move}, {"over", bs_watch_add_over},
		{"stack", add_stack},	  {"frame", add_frame}, {"stop", add_stop},
		{"light", set_light},	  {"begins", set_begins},
		{"usage", add_usage},	  {"owner", add_owner}, {"stage", bs_watch_add_stage},
		{"timing", bs_watch_set_timing}, {"cache", bs_watch_set_cache},
		{"branches", bs_watch_set_branches}, {"control", bs_watch_set_control},
		{"control-by", bs_watch_add_control_by}, {"large", bs_watch_add_large},
		{"uncached", bs_watch_add_uncached}, {"switched", bs_watch_add_switched},
		{"part", bs_watch_add_part}, {"price", bs_watch_set_price},
		{"costs", bs_watch_add_costs}, {"loads", bs_watch_add_loads}, {"reads", bs_watch_add_reads},
		{"split", bs_watch_set_split}, {"flat-passes", bs_watch_set_flat_passes},
		{"quiet", bs_watch_set_quiet}, {"pause", set_pause},
	};
	const char *what = l->word[0];

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (!strcmp(what, items[i].what))
			return items[i].add(w, l);
	if (!strcmp(what, "code"))
		return add_range(w->code, &w->n_code, l);
	if (!strcmp(what, "return"))
		return add_range(w->code_return, &w->n_return, l);
	if (!strcmp(what, "call"))
		return add_pattern(w->call, &w->n_call, l);
	if (!strcmp(what, "idle"))
		return add_pattern(w->idle, &w->n_idle, l);
	if (!strcmp(what, "yield"))
		return add_pattern(w->yield, &w->n_yield, l);
	if (!strcmp(what, "quantum"))
		return set_time(&w->quantum_ns, l);
	if (!strcmp(what, "sample"))
		return set_time(&w->sample_ns, l);
	if (!strcmp(what, "limit"))
		return set_time(&w->limit_ns, l);
	return false;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct bs_hook *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

bool bs_watch_load(struct bs_watch *w, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	bool good = true;

	if (!f) {
		fprintf(stderr, "bootscope plugin: %s: %s\n", path, strerror(errno));
		return false;
	}
	w->pc = w->sp = w->link = w->flags = BS_NO_REGISTER;
	for (int nr = 1; good && getline(&text, &room, f) >= 0; nr++) {
		char *copy = strdup(text);
		struct bs_line l = bs_line_split(text);
		good = l.n == 0 || (!l.too_long && add_item(w, &l));
		if (!good)
			fprintf(stderr, "bootscope plugin: %s:%d: not understood: %s", path, nr, copy);
		free(copy);
	}
	free(text);
	fclose(f);
	if (good && (!w->tick_ns || !w->word_bytes)) {
		fprintf(stderr, "bootscope plugin: %s: no '%s' line\n", path, w->tick_ns ? "word" : "tick");
		good = false;
	}
	if (w->n_hooks)
		qsort(w->hooks, w->n_hooks, sizeof(*w->hooks), by_vaddr);
	return good;
}

struct bs_hook *bs_watch_hooks_at(struct bs_watch *w, uint64_t vaddr, size_t *n)
{
	size_t lo = 0, hi = w->n_hooks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (w->hooks[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*n = 0;
	while (lo + *n < w->n_hooks && w->hooks[lo + *n].vaddr == vaddr)
		++*n;
	return *n ? &w->hooks[lo] : NULL;
}
