// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "hooks.h"

#include <string.h>

#include "clock.h"
#include "record.h"
#include "registers.h"
#include "flash.h"
#include "returns.h"
#include "run.h"
#include "seen.h"
#include "stack.h"
#include "usage.h"

/* The hook's text; false when there is none that counts. */
static bool hook_text(const struct bs_hook *h, uint8_t text[BS_MAX_HOOK_TEXT], size_t *size)
{
	uint64_t address;

	*size = 0;
	if (h->text == BS_NO_TEXT)
		return true;
	if (bs_chain_address(&h->text_at, &address)) {
		if (h->text == BS_STR)
			*size = bs_text(address, text);
		else if (h->text == BS_ARGS)
			*size = bs_text_list(address, text);
		else
			*size = bs_path(address, h->name_at, h->parent_at, text);
	}
	return !h->only || (*size == h->only_size && !memcmp(text, h->only, *size));
}

/* The bytes that the hook takes, kept until the next one is reached. */
static struct {
	uint8_t bytes[BS_MAX_BYTES];
	size_t size;
} taken;

static void take_bytes(const struct bs_hook *h)
{
	uint64_t at, size;

	taken.size = 0;
	if (h->bytes && bs_chain_address(&h->bytes_at, &at) && bs_chain_address(&h->size_at, &size))
		taken.size = bs_bytes(at, bs_int(size), taken.bytes);
}

static bool holds_all(const struct bs_hook *h, const uint8_t *text, size_t size)
{
	for (size_t i = 0; i < h->n_has; i++)
		if (!memmem(text, size, h->has[i].bytes, h->has[i].size))
			return false;
	return true;
}

static void record_bytes(int64_t now_ns)
{
	for (size_t at = 0, size; at < taken.size; at += size) {
		struct bs_payload p = {.size = 0};

		size = taken.size - at < sizeof(p.bytes) ? taken.size - at : sizeof(p.bytes);
		bs_put_bytes(&p, taken.bytes + at, size);
		bs_record(BS_REC_BYTES, now_ns, &p);
	}
}

static uint64_t hook_value(const struct bs_value *v)
{
	uint64_t address;

	switch (v->kind) {
	case BS_NONE:
		return 0;
	case BS_REG:
		return bs_register(v->chain.reg);
	default:
		if (!bs_chain_address(&v->chain, &address))
			return 0;
		return v->kind == BS_WORD ? bs_word(address) : bs_int(address);
	}
}

static bool condition_holds(const struct bs_condition *c, uint64_t flags)
{
	for (size_t i = 0; i < c->n; i++)
		if ((flags & c->test[i].mask) == c->test[i].value)
			return true;
	return false;
}

static bool hook_counts(const struct bs_watch *w, const struct bs_hook *h)
{
	if (h->once && h->done)
		return false;
	if (h->if_reg != BS_NO_REGISTER && bs_register(h->if_reg) != h->if_value)
		return false;
	return !h->when || condition_holds(h->when, bs_register(w->flags));
}

/* Who runs: told at the hook where the owner starts, and at every switch after it. */
static void note_owner(struct bs_owner *o, const struct bs_hook *h)
{
	const struct bs_chain *chain = h->id == o->start_hook ? &o->start : &o->now;
	uint64_t address;

	if (h->id != o->start_hook && (h->id != o->switch_hook || !o->known))
		return;
	uint64_t who = bs_chain_address(chain, &address) ? bs_int(address) : 0;
	if (h->id == o->start_hook) {
		o->known = true;
		o->who = who;
	}
	bs_usage_owner(who == o->who);
}

/* What the hook tells of itself; false when it does not count. */
static bool hook_payload(struct bs_watch *w, struct bs_hook *h, struct bs_payload *p)
{
	uint8_t text[BS_MAX_HOOK_TEXT];
	size_t size, room;

	if (!hook_counts(w, h) || !hook_text(h, text, &size))
		return false;
	take_bytes(h);
	if (!holds_all(h, h->bytes ? taken.bytes : text, h->bytes ? taken.size : size))
		return false;
	bs_put_uint(p, h->id);
	bs_put_byte(p, (uint8_t)h->n_values);
	for (size_t i = 0; i < h->n_values; i++)
		bs_put_uint(p, hook_value(&h->values[i]));
	if (h->unseen && !bs_seen_add(p->bytes, p->size))
		return false;
	h->done = true;
	if (h->text == BS_NO_TEXT)
		return true;
	/* Beside long words a long text is cut. */
	room = sizeof(p->bytes) - p->size - 1;
	size = size < room ? size : room;
	bs_put_byte(p, (uint8_t)size);
	bs_put_bytes(p, text, size);
	return true;
}

void bs_hook_reached(struct bs_watch *w, struct bs_hook *h, uint64_t vaddr, uint64_t rest)
{
	struct bs_payload p = {.size = 0};

	if (!hook_payload(w, h, &p))
		return;
	int64_t now_ns = bs_clock_now(rest);
	if (h->routine)
		bs_record_routine(BS_REC_HOOK, now_ns, &p);
	else
		bs_record(BS_REC_HOOK, now_ns, &p);
	if (h->bytes)
		record_bytes(now_ns);
	if (h->over && w->returns)
		bs_returns_over();
	if (h->return_id)
		bs_returns_expect(h);
	if (h->stack)
		bs_stack_record(w, vaddr, now_ns);
	if (h->id == w->move_hook && h->n_values)
		w->moved_by = hook_value(&h->values[0]) - w->move_from;
	if (w->usage.used)
		note_owner(&w->usage.owner, h);
	if (h->stage)
		bs_usage_stage();
	if (h->frame)
		w->frame.waits = false;
	if (w->flash.n_windows)
		bs_flash_hook(h->id);
	if (h->id == w->quiet_hook)
		w->quiet_ns = w->quiet_later_ns;
	if (h->stop)
		bs_run_end(BS_END_STOP_HOOK, h->id, now_ns);
}
