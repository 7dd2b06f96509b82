// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_hook.h"

#include <stdlib.h>
#include <string.h>

#include "registers.h"

static bool hook_text(struct bs_hook *h, const char *hex)
{
	if (!h->only)
		h->only = calloc(1, BS_MAX_TEXT_BYTES);
	return h->only && bs_hex_bytes(hex, h->only, &h->only_size);
}

static bool hook_value(struct bs_hook *h, enum bs_value_kind kind, const char *text)
{
	struct bs_value *v = &h->values[h->n_values];

	if (h->n_values == BS_MAX_CAPTURE)
		return false;
	v->kind = kind;
	h->n_values++;
	if (kind == BS_NONE)
		return true;
	return bs_chain(text, &v->chain) && (kind != BS_REG || !v->chain.n);
}

static bool hook_words(struct bs_hook *h, enum bs_text_kind kind, const char *text)
{
	if (h->text != BS_NO_TEXT)
		return false;
	h->text = kind;
	return bs_chain(text, &h->text_at);
}

static bool hook_bytes(struct bs_hook *h, char *const words[])
{
	if (h->bytes)
		return false;
	h->bytes = true;
	return bs_chain(words[1], &h->bytes_at) && bs_chain(words[2], &h->size_at) && h->size_at.n;
}

static bool hook_has(struct bs_hook *h, const char *hex)
{
	if (h->n_has == BS_MAX_HAS)
		return false;
	uint8_t *bytes = h->has[h->n_has].bytes = calloc(1, BS_MAX_TEXT_BYTES);
	return bytes && bs_hex_bytes(hex, bytes, &h->has[h->n_has++].size);
}

static bool hook_path(struct bs_hook *h, char *const words[])
{
	uint64_t name, parent;

	if (!bs_number(words[2], &name) || !bs_number(words[3], &parent) || name > INT32_MAX || parent > INT32_MAX)
		return false;
	h->name_at = (int32_t)name;
	h->parent_at = (int32_t)parent;
	return hook_words(h, BS_PATH, words[1]);
}

/* Reads a value that the hook takes; returns how many words it was, 0 when it is none. */
static size_t value_item(struct bs_hook *h, char *const words[], size_t n)
{
	static const struct {
		const char *what;
		enum bs_value_kind kind;
		size_t words;
	} kinds[] = {{"none", BS_NONE, 1}, {"reg", BS_REG, 2}, {"word", BS_WORD, 2}, {"int", BS_INT, 2}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(words[0], kinds[i].what) && n >= kinds[i].words)
			return hook_value(h, kinds[i].kind, words[1]) ? kinds[i].words : 0;
	return 0;
}

/* The same for the hook's text. */
static size_t text_item(struct bs_hook *h, char *const words[], size_t n)
{
	const char *what = words[0];

	if (n >= 2 && !strcmp(what, "str"))
		return hook_words(h, BS_STR, words[1]) ? 2 : 0;
	if (n >= 2 && !strcmp(what, "args"))
		return hook_words(h, BS_ARGS, words[1]) ? 2 : 0;
	if (n >= 2 && !strcmp(what, "is") && h->text != BS_NO_TEXT)
		return hook_text(h, words[1]) ? 2 : 0;
	if (n >= 3 && !strcmp(what, "bytes"))
		return hook_bytes(h, words) ? 3 : 0;
	if (n >= 2 && !strcmp(what, "has") && (h->bytes || h->text != BS_NO_TEXT))
		return hook_has(h, words[1]) ? 2 : 0;
	if (n >= 4 && !strcmp(what, "path"))
		return hook_path(h, words) ? 4 : 0;
	return 0;
}

/* The same for the return of the function that begins at the hook. */
static size_t returns_item(struct bs_watch *w, struct bs_hook *h, char *const words[], size_t n)
{
	uint64_t id;

	if (n < 3 || strcmp(words[0], "returns") || h->return_id || !bs_number(words[1], &id) || !id ||
	    id > UINT32_MAX || !bs_register_name(words[2], &h->result))
		return 0;
	h->return_id = (uint32_t)id;
	w->returns = true;
	return 3;
}

/* The same for what decides whether the hook counts. */
static size_t test_item(const struct bs_watch *w, struct bs_hook *h, char *const words[], size_t n)
{
	uint64_t number;

	if (n >= 2 && !strcmp(words[0], "when") && bs_number(words[1], &number) &&
	    number < BS_MAX_CONDITIONS && w->conditions[number].n) {
		h->when = &w->conditions[number];
		return 2;
	}
	if (n >= 3 && !strcmp(words[0], "if") && bs_register_name(words[1], &h->if_reg) &&
	    bs_number(words[2], &h->if_value))
		return 3;
	return 0;
}

/* Reads the item at words[0], of n words left; returns how many words it was, 0 when it is none. */
static size_t hook_item(struct bs_watch *w, struct bs_hook *h, char *const words[], size_t n)
{
	const char *what = words[0];
	size_t used;

	if (!strcmp(what, "stack"))
		return h->stack = true;
	if (!strcmp(what, "moves"))
		return h->moves = true;
	if (!strcmp(what, "unseen"))
		return h->unseen = true;
	used = value_item(h, words, n);
	if (!used)
		used = text_item(h, words, n);
	if (!used)
		used = returns_item(w, h, words, n);
	return used ? used : test_item(w, h, words, n);
}

bool bs_watch_add_hook(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];
	struct bs_hook h = {.if_reg = BS_NO_REGISTER};

	if (l->n < 4 || !bs_numbers(l, 1, 2, v))
		return false;
	h.id = (uint32_t)v[0];
	h.vaddr = v[1];
	h.once = !strcmp(l->word[3], "once");
	if (!h.once && strcmp(l->word[3], "every"))
		return false;
	for (size_t i = 4, used; i < l->n; i += used) {
		used = hook_item(w, &h, &l->word[i], l->n - i);
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

bool bs_watch_add_routine(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !bs_numbers(l, 1, 2, v))
		return false;
	for (size_t i = 0; i < w->n_hooks; i++)
		if (w->hooks[i].id >= v[0] && w->hooks[i].id <= v[1])
			w->hooks[i].routine = true;
	return true;
}

bool bs_watch_add_over(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (w->task_stack_bytes || l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[1] || v[1] & (v[1] - 1))
		return false;
	w->task_stack_bytes = v[1];
	for (size_t i = 0; i < w->n_hooks; i++)
		if (w->hooks[i].id == v[0])
			return w->hooks[i].over = true;
	return false;
}

bool bs_watch_add_move(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[0])
		return false;
	w->move_hook = (uint32_t)v[0];
	w->move_from = v[1];
	return true;
}
