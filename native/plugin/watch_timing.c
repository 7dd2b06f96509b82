// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_timing.h"

#include <string.h>

#include "registers.h"

#define MOST_PS 1000000000 /* a millisecond */

static const struct {
	const char *name;
	enum bs_policy policy;
} policies[] = {{"lru", BS_LRU}, {"random", BS_RANDOM}, {"round-robin", BS_ROUND_ROBIN}};

static const char *const cache_names[BS_CACHES] = {"code", "data", "second", "code-tlb", "data-tlb"};

bool bs_watch_set_timing(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];
	struct bs_timing *t = &w->timing;

	if (t->used || l->n != 4 || !bs_numbers(l, 2, 2, v) || v[0] >= v[1])
		return false;
	if (strlen(l->word[1]) >= sizeof(t->path))
		return false;
	t->used = true;
	t->memory = (struct bs_range){v[0], v[1]};
	strcpy(t->path, l->word[1]);
	return true;
}

static bool policy_of(const char *word, enum bs_policy *policy)
{
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		if (!strcmp(word, policies[i].name)) {
			*policy = policies[i].policy;
			return true;
		}
	return false;
}

bool bs_watch_set_cache(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3], allocates;
	enum bs_policy policy;

	if (l->n != 7 || !bs_numbers(l, 2, 3, v) || !policy_of(l->word[5], &policy) ||
	    !bs_number(l->word[6], &allocates) || allocates > 1 || v[1] > UINT32_MAX || v[2] > UINT32_MAX)
		return false;
	for (size_t i = 0; i < BS_CACHES; i++)
		if (!strcmp(l->word[1], cache_names[i])) {
			w->timing.has[i] = true;
			return bs_cache_make(&w->timing.cache[i], v[0], (uint32_t)v[1], (uint32_t)v[2], policy,
					     allocates);
		}
	return false;
}

bool bs_watch_set_branches(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[4];

	if (l->n != 5 || !bs_numbers(l, 1, 4, v))
		return false;
	for (size_t i = 0; i < 4; i++)
		if (v[i] > 1u << 20)
			return false;
	return bs_branches_make(&w->timing.branches, (uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2],
				(uint32_t)v[3]);
}

bool bs_watch_set_control(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_timing *t = &w->timing;

	if (t->n_control || l->n < 5 || l->n > 4 + BS_MAX_CONTROL || !bs_numbers(l, 1, 3, t->control_bits))
		return false;
	for (size_t i = 4; i < l->n; i++) {
		if (!bs_register_name(l->word[i], &t->control[t->n_control]))
			return false;
		bs_register_may_lack(t->control[t->n_control++]);
	}
	return true;
}

bool bs_watch_set_control_off(struct bs_watch *w, const struct bs_line *l)
{
	return l->n == 2 && bs_number(l->word[1], &w->timing.control_off);
}

bool bs_watch_add_control_by(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_pattern(l, w->timing.control_by, &w->timing.n_control_by);
}

bool bs_watch_add_clock(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_pattern(l, w->timing.clock, &w->timing.n_clock);
}

bool bs_watch_add_repeat(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_timing *t = &w->timing;
	uint64_t v;

	if (t->n_repeat == BS_MAX_REPEAT || l->n != 2 || !bs_number(l->word[1], &v) || v > UINT8_MAX)
		return false;
	t->repeat[t->n_repeat++] = (uint8_t)v;
	return true;
}

bool bs_watch_add_large(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];
	struct bs_timing *t = &w->timing;

	if (t->n_large == BS_MAX_CODE || l->n != 4 || !bs_numbers(l, 1, 3, v) || v[0] >= v[1] || v[2] < 12 ||
	    v[2] > 40)
		return false;
	t->large_shift = (uint32_t)v[2];
	t->large[t->n_large++] = (struct bs_range){v[0], v[1]};
	return true;
}

bool bs_watch_add_uncached(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_range(l, w->timing.uncached, &w->timing.n_uncached);
}

bool bs_watch_set_write_combining(struct bs_watch *w, const struct bs_line *l)
{
	w->timing.write_combining = true;
	return l->n == 1;
}

bool bs_watch_add_part(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v;
	struct bs_timing *t = &w->timing;

	if (t->n_parts == BS_MAX_PARTS || l->n != 2 || !bs_number(l->word[1], &v))
		return false;
	if (t->n_parts && v <= t->part[t->n_parts - 1])
		return false;
	t->part[t->n_parts++] = v;
	return true;
}

/* A stream's further line costs less than any other, so that its price is below 0. */
static bool picoseconds(const char *word, int64_t *ps)
{
	uint64_t size;
	bool below = word[0] == '-';

	if (!bs_number(word + below, &size) || size > MOST_PS)
		return false;
	*ps = below ? -(int64_t)size : (int64_t)size;
	return true;
}

bool bs_watch_set_price(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_price *p = &w->timing.price;

	if (p->used || l->n != 2 + BS_COUNTS || !picoseconds(l->word[1], &p->instruction_ps) ||
	    p->instruction_ps <= 0)
		return false;
	for (size_t i = 0; i < BS_COUNTS; i++)
		if (!picoseconds(l->word[2 + i], &p->event_ps[i]))
			return false;
	p->used = true;
	return true;
}

static bool switch_of(const char *word, enum bs_switch *found)
{
	static const char *const words[] = {[BS_AS_IS] = "as-is", [BS_OFF] = "off", [BS_ON] = "on"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(word, words[i])) {
			*found = (enum bs_switch)i;
			return true;
		}
	return false;
}

bool bs_watch_add_switched(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t part;
	struct bs_timing *t = &w->timing;
	struct bs_switched *s = &t->switched[t->n_switched];

	if (t->n_switched > BS_MAX_PARTS || l->n != 4 || !bs_number(l->word[1], &part) || part > BS_MAX_PARTS ||
	    !switch_of(l->word[2], &s->data) || !switch_of(l->word[3], &s->code))
		return false;
	s->part = (size_t)part;
	t->n_switched++;
	return true;
}
