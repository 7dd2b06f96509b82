// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "watch.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 40

struct line {
	char *word[MAX_WORDS];
	size_t n;
	bool too_long;
};

static bool number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && isdigit((unsigned char)*text) && !*end;
}

/* Numbers from word `first` on, as many as asked for. */
static bool numbers(const struct line *l, size_t first, size_t n, uint64_t *values)
{
	if (l->n < first + n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!number(l->word[first + i], &values[i]))
			return false;
	return true;
}

static bool add_io(struct bs_watch *w, const struct line *l)
{
	uint64_t v[3];

	if (w->n_io == BS_MAX_IO || l->n != 4 || !numbers(l, 1, 3, v) || !v[2] || v[1] + v[2] < v[1])
		return false;
	w->io[w->n_io++] = (struct bs_io){.id = (uint32_t)v[0], .start = v[1], .end = v[1] + v[2]};
	return true;
}

static bool hex_bytes(const char *text, uint8_t *bytes, size_t *size)
{
	size_t digits = strlen(text);

	if (!digits || digits % 2 || digits / 2 > BS_MAX_TEXT_BYTES)
		return false;
	for (size_t i = 0; i < digits; i += 2) {
		const char byte[] = {text[i], text[i + 1], 0};
		if (!isxdigit((unsigned char)byte[0]) || !isxdigit((unsigned char)byte[1]))
			return false;
		bytes[i / 2] = (uint8_t)strtoul(byte, NULL, 16);
	}
	*size = digits / 2;
	return true;
}

static bool add_text(struct bs_watch *w, const struct line *l)
{
	uint64_t v[3];
	struct bs_text *t = &w->text[w->n_text];

	if (w->n_text == BS_MAX_TEXT || l->n != 5 || !numbers(l, 1, 3, v))
		return false;
	t->id = (uint32_t)v[0];
	t->io = (uint32_t)v[1];
	t->offset = v[2];
	if (!hex_bytes(l->word[4], t->bytes, &t->size))
		return false;
	w->n_text++;
	return true;
}

static bool hook_text(struct bs_hook *h, const char *hex)
{
	if (!h->only)
		h->only = calloc(1, BS_MAX_TEXT_BYTES);
	return h->only && hex_bytes(hex, h->only, &h->only_size);
}

/* N, N+OFF or N+OFF>OFF...; offsets may be negative. */
static bool chain(const char *text, struct bs_chain *c)
{
	char *end;
	unsigned long reg = strtoul(text, &end, 10);

	*c = (struct bs_chain){.reg = (uint8_t)reg};
	if (!isdigit((unsigned char)*text) || reg >= BS_N_REGS)
		return false;
	while (*end) {
		if (c->n == BS_MAX_STEPS || *end != (c->n ? '>' : '+'))
			return false;
		const char *from = end + 1;
		long step = strtol(from, &end, 0);
		if (!isdigit((unsigned char)from[*from == '-']) || step > INT32_MAX || step < INT32_MIN)
			return false;
		c->step[c->n++] = (int32_t)step;
	}
	return true;
}

static bool hook_value(struct bs_hook *h, bool memory, const char *text)
{
	struct bs_value *v = &h->values[h->n_values];

	if (h->n_values == BS_MAX_CAPTURE || !chain(text, &v->chain))
		return false;
	v->memory = memory;
	h->n_values++;
	return memory || !v->chain.n;
}

static bool hook_words(struct bs_hook *h, enum bs_text_kind kind, const char *text)
{
	if (h->text != BS_NO_TEXT)
		return false;
	h->text = kind;
	return chain(text, &h->text_at);
}

static bool hook_path(struct bs_hook *h, char *const words[])
{
	uint64_t name, parent;

	if (!number(words[2], &name) || !number(words[3], &parent) || name > INT32_MAX || parent > INT32_MAX)
		return false;
	h->name_at = (int32_t)name;
	h->parent_at = (int32_t)parent;
	return hook_words(h, BS_PATH, words[1]);
}

/* Reads the item at words[0], of n words left; returns how many words it was, 0 when it is none. */
static size_t hook_item(struct bs_hook *h, char *const words[], size_t n)
{
	const char *what = words[0];
	uint64_t when;

	if (!strcmp(what, "stack"))
		return h->stack = true;
	if (!strcmp(what, "moves"))
		return h->moves = true;
	if (!strcmp(what, "unseen"))
		return h->unseen = true;
	if (n >= 2 && !strcmp(what, "when") && number(words[1], &when) && when <= 14) {
		h->when = (uint8_t)when;
		return 2;
	}
	if (n >= 3 && !strcmp(what, "if") && number(words[1], &when) && when < BS_N_REGS &&
	    number(words[2], &h->if_value)) {
		h->if_reg = (int8_t)when;
		return 3;
	}
	if (n >= 2 && (!strcmp(what, "reg") || !strcmp(what, "word")))
		return hook_value(h, *what == 'w', words[1]) ? 2 : 0;
	if (n >= 2 && !strcmp(what, "str"))
		return hook_words(h, BS_STR, words[1]) ? 2 : 0;
	if (n >= 2 && !strcmp(what, "args"))
		return hook_words(h, BS_ARGS, words[1]) ? 2 : 0;
	if (n >= 2 && !strcmp(what, "is") && h->text != BS_NO_TEXT)
		return hook_text(h, words[1]) ? 2 : 0;
	if (n >= 4 && !strcmp(what, "path"))
		return hook_path(h, words) ? 4 : 0;
	return 0;
}

static bool add_hook(struct bs_watch *w, const struct line *l)
{
	uint64_t v[2];
	struct bs_hook h = {.when = 14, .if_reg = -1};

	if (l->n < 4 || !numbers(l, 1, 2, v))
		return false;
	h.id = (uint32_t)v[0];
	h.vaddr = v[1];
	h.once = !strcmp(l->word[3], "once");
	if (!h.once && strcmp(l->word[3], "every"))
		return false;
	for (size_t i = 4, used; i < l->n; i += used) {
		used = hook_item(&h, &l->word[i], l->n - i);
		if (!used)
			return false;
	}
	struct bs_hook *grown = realloc(w->hooks, (w->n_hooks + 1) * sizeof(h));
	if (!grown)
		return false;
	w->hooks = grown;
	w->hooks[w->n_hooks++] = h;
	return true;
}

static bool add_range(struct bs_range *ranges, size_t *n, const struct line *l)
{
	uint64_t v[2];

	if (*n == BS_MAX_CODE || l->n != 3 || !numbers(l, 1, 2, v) || v[0] >= v[1])
		return false;
	ranges[(*n)++] = (struct bs_range){v[0], v[1]};
	return true;
}

static bool add_stack(struct bs_watch *w, const struct line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !numbers(l, 1, 2, v) || !v[0] || v[0] > INT64_MAX || v[1] > BS_MAX_STACK_BYTES)
		return false;
	w->stack = (struct bs_stack){.period_ns = (int64_t)v[0], .bytes = (uint32_t)v[1]};
	return true;
}

static bool add_frame(struct bs_watch *w, const struct line *l)
{
	uint64_t v[4];
	struct bs_frame *f = &w->frame;

	if (f->used || l->n != 6 || !numbers(l, 1, 4, v) || !v[3] || v[2] % v[3])
		return false;
	if (strlen(l->word[5]) >= sizeof(f->path))
		return false;
	*f = (struct bs_frame){.used = true, .id = (uint32_t)v[0], .start = v[1], .size = v[2],
			       .cell = (uint32_t)v[3]};
	strcpy(f->path, l->word[5]);
	return true;
}

static bool add_pattern(struct bs_idle *patterns, size_t *n, const struct line *l)
{
	uint64_t v[3];

	/* Opcodes are compared as one word; no instruction is of no bytes. */
	if (*n == BS_MAX_IDLE || l->n != 4 || !numbers(l, 1, 3, v) || !v[0] || v[0] > sizeof(uint32_t))
		return false;
	patterns[(*n)++] = (struct bs_idle){(uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2]};
	return true;
}

static bool add_move(struct bs_watch *w, const struct line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !numbers(l, 1, 2, v) || !v[0])
		return false;
	w->move_hook = (uint32_t)v[0];
	w->move_from = v[1];
	return true;
}

static bool add_routine(struct bs_watch *w, const struct line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !numbers(l, 1, 2, v))
		return false;
	for (size_t i = 0; i < w->n_hooks; i++)
		if (w->hooks[i].id >= v[0] && w->hooks[i].id <= v[1])
			w->hooks[i].routine = true;
	return true;
}

static bool add_usage(struct bs_watch *w, const struct line *l)
{
	uint64_t v;
	struct bs_usage *u = &w->usage;

	if (u->used || l->n != 3 || !number(l->word[1], &v) || v > INT64_MAX)
		return false;
	if (strlen(l->word[2]) >= sizeof(u->path))
		return false;
	u->used = true;
	u->after_ns = (int64_t)v;
	strcpy(u->path, l->word[2]);
	return true;
}

static bool add_owner(struct bs_watch *w, const struct line *l)
{
	uint64_t start, now;
	struct bs_owner *o = &w->usage.owner;

	if (o->start_hook || l->n != 5 || !number(l->word[1], &start) || !number(l->word[3], &now))
		return false;
	o->start_hook = (uint32_t)start;
	o->switch_hook = (uint32_t)now;
	return start && now && chain(l->word[2], &o->start) && chain(l->word[4], &o->now) && o->start.n &&
	       o->now.n;
}

static bool add_stage(struct bs_watch *w, const struct line *l)
{
	uint64_t id;
	bool found = false;

	if (l->n != 2 || !number(l->word[1], &id))
		return false;
	for (size_t i = 0; i < w->n_hooks; i++)
		if (w->hooks[i].id == id)
			w->hooks[i].stage = found = true;
	return found;
}

static bool add_stop(struct bs_watch *w, const struct line *l)
{
	uint64_t id;
	bool found = false;

	if (l->n != 3 || !number(l->word[2], &id))
		return false;
	if (!strcmp(l->word[1], "frame") && w->frame.used && w->frame.id == id)
		w->frame.stop = found = true;
	for (size_t i = 0; !strcmp(l->word[1], "hook") && i < w->n_hooks; i++)
		if (w->hooks[i].id == id)
			w->hooks[i].stop = found = true;
	for (size_t i = 0; !strcmp(l->word[1], "text") && i < w->n_text; i++)
		if (w->text[i].id == id)
			w->text[i].stop = found = true;
	return found;
}

static bool set_time(int64_t *to, const struct line *l)
{
	uint64_t v;

	if (l->n != 2 || !number(l->word[1], &v) || v > INT64_MAX)
		return false;
	*to = (int64_t)v;
	return true;
}

static bool add_item(struct bs_watch *w, const struct line *l)
{
	int64_t tick;
	const char *what = l->word[0];

	if (!strcmp(what, "io"))
		return add_io(w, l);
	if (!strcmp(what, "text"))
		return add_text(w, l);
	if (!strcmp(what, "hook"))
		return add_hook(w, l);
	if (!strcmp(what, "code"))
		return add_range(w->code, &w->n_code, l);
	if (!strcmp(what, "routine"))
		return add_routine(w, l);
	if (!strcmp(what, "move"))
		return add_move(w, l);
	if (!strcmp(what, "return"))
		return add_range(w->code_return, &w->n_return, l);
	if (!strcmp(what, "stack"))
		return add_stack(w, l);
	if (!strcmp(what, "call"))
		return add_pattern(w->call, &w->n_call, l);
	if (!strcmp(what, "frame"))
		return add_frame(w, l);
	if (!strcmp(what, "idle"))
		return add_pattern(w->idle, &w->n_idle, l);
	if (!strcmp(what, "stop"))
		return add_stop(w, l);
	if (!strcmp(what, "usage"))
		return add_usage(w, l);
	if (!strcmp(what, "owner"))
		return add_owner(w, l);
	if (!strcmp(what, "stage"))
		return add_stage(w, l);
	if (!strcmp(what, "sample"))
		return set_time(&w->sample_ns, l);
	if (!strcmp(what, "limit"))
		return set_time(&w->limit_ns, l);
	if (!strcmp(what, "quiet"))
		return set_time(&w->quiet_ns, l);
	if (!strcmp(what, "tick") && set_time(&tick, l) && tick > 0 && tick < 1000000) {
		w->tick_ns = (uint32_t)tick;
		return true;
	}
	return false;
}

static struct line split(char *text)
{
	struct line l = {.n = 0};
	char *save = NULL;

	for (char *w = strtok_r(text, " \t\n", &save); w && *w != '#'; w = strtok_r(NULL, " \t\n", &save))
		if (l.n < MAX_WORDS)
			l.word[l.n++] = w;
		else
			l.too_long = true;
	return l;
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
	for (int nr = 1; good && getline(&text, &room, f) >= 0; nr++) {
		char *copy = strdup(text);
		struct line l = split(text);
		good = l.n == 0 || (!l.too_long && add_item(w, &l));
		if (!good)
			fprintf(stderr, "bootscope plugin: %s:%d: not understood: %s", path, nr, copy);
		free(copy);
	}
	free(text);
	fclose(f);
	if (good && !w->tick_ns) {
		fprintf(stderr, "bootscope plugin: %s: no 'tick' line\n", path);
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
