// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_classes.h"

#include <string.h>

#include "hierarchy.h"

static const struct {
	const char *name;
	enum bs_count count;
} costs[] = {{"plain", BS_COUNTS}, {"multiply", BS_MULTIPLY}, {"divide", BS_DIVIDE}, {"shift", BS_SHIFT},
	     {"scaled", BS_SCALED}};

/* Room for a rule with the pattern at word `first`, or NULL. */
static struct bs_class *rule(struct bs_watch *w, const struct bs_line *l, size_t first, enum bs_class_group group)
{
	uint64_t v[3];
	struct bs_timing *t = &w->timing;

	if (t->n_classes == BS_MAX_CLASSES || l->n < first + 3 || !bs_numbers(l, first, 3, v) || !v[0] ||
	    v[0] > sizeof(uint64_t) || (t->n_classes && v[0] != t->classes[0].opcode.size))
		return NULL;
	struct bs_class *made = &t->classes[t->n_classes];
	*made = (struct bs_class){.group = group, .opcode = {(uint32_t)v[0], v[1], v[2]}, .count = BS_COUNTS};
	return made;
}

/* The rest of the line: where numbers of registers are. */
static bool fields(struct bs_class *made, const struct bs_line *l, size_t first)
{
	if (l->n < first || (l->n - first) % 2 || l->n - first > (size_t)2 * BS_MAX_FIELDS)
		return false;
	for (size_t at = first; at < l->n; at += 2) {
		uint64_t v[2];

		if (!bs_numbers(l, at, 2, v) || v[0] > 63 || !v[1] || v[1] > 6)
			return false;
		made->field[made->n_fields].shift = (uint8_t)v[0];
		made->field[made->n_fields++].bits = (uint8_t)v[1];
	}
	return true;
}

bool bs_watch_add_costs(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_class *made = rule(w, l, 2, BS_GROUP_COSTS);

	if (!made)
		return false;
	if (!strcmp(l->word[1], "many")) {
		made->count = BS_MORE_REGISTERS;
		w->timing.n_classes++;
		return l->n == 6 && bs_number(l->word[5], &made->list);
	}
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		if (!strcmp(l->word[1], costs[i].name)) {
			made->count = costs[i].count;
			w->timing.n_classes++;
			return l->n == 5;
		}
	return false;
}

bool bs_watch_add_loads(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_class *made = rule(w, l, 2, BS_GROUP_LOADS);

	if (!made || l->n != 7 || !fields(made, l, 5))
		return false;
	made->narrow = !strcmp(l->word[1], "narrow");
	w->timing.n_classes++;
	return made->narrow || !strcmp(l->word[1], "word");
}

bool bs_watch_add_reads(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_class *made = rule(w, l, 1, BS_GROUP_READS);

	if (!made || !fields(made, l, 4))
		return false;
	w->timing.n_classes++;
	return true;
}

static bool is_boundary(uint64_t v)
{
	return !(v & (v - 1)) && v <= 4096;
}

bool bs_watch_set_split(struct bs_watch *w, const struct bs_line *l)
{
	return l->n == 3 && bs_numbers(l, 1, 2, w->timing.split) && is_boundary(w->timing.split[0]) &&
	       is_boundary(w->timing.split[1]);
}

bool bs_watch_set_flat_passes(struct bs_watch *w, const struct bs_line *l)
{
	w->timing.flat_passes = true;
	return l->n == 1;
}
