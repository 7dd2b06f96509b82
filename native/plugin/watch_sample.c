// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_sample.h"

#include <string.h>

bool bs_watch_set_sample(struct bs_watch *w, const struct bs_line *l)
{
	return bs_time(l, &w->sample_ns);
}

bool bs_watch_add_stack(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[0] || v[0] > INT64_MAX || v[1] > BS_MAX_STACK_BYTES)
		return false;
	w->stack = (struct bs_stack){.period_ns = (int64_t)v[0], .bytes = (uint32_t)v[1]};
	return true;
}

bool bs_watch_add_return(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_range(l, w->code_return, &w->n_return);
}

bool bs_watch_add_call(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_pattern(l, w->call, &w->n_call);
}

bool bs_watch_add_usage(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_add_owner(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_add_stage(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t id;
	bool found = false;

	if (l->n != 2 || !bs_number(l->word[1], &id))
		return false;
	for (size_t i = 0; i < w->n_hooks; i++)
		if (w->hooks[i].id == id)
			w->hooks[i].stage = found = true;
	return found;
}
