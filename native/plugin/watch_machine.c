// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_machine.h"

#include <string.h>

bool bs_watch_set_tick(struct bs_watch *w, const struct bs_line *l)
{
	int64_t tick;

	if (!bs_time(l, &tick) || tick <= 0 || tick >= 1000000)
		return false;
	w->tick_ns = (uint32_t)tick;
	return true;
}

bool bs_watch_set_word(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (l->n != 3 || !bs_numbers(l, 1, 2, v) || (v[0] != 4 && v[0] != 8))
		return false;
	w->word_bytes = (uint32_t)v[0];
	w->mode_bits = v[1];
	return true;
}

bool bs_watch_set_segment(struct bs_watch *w, const struct bs_line *l)
{
	return l->n == 2 && bs_number(l->word[1], &w->segment_bytes);
}

bool bs_watch_set_register(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_add_condition(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_add_idle(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_pattern(l, w->idle, &w->n_idle);
}

bool bs_watch_add_yield(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_pattern(l, w->yield, &w->n_yield);
}

bool bs_watch_set_quantum(struct bs_watch *w, const struct bs_line *l)
{
	return bs_time(l, &w->quantum_ns);
}
