// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_screen.h"

#include <string.h>

bool bs_watch_add_code(struct bs_watch *w, const struct bs_line *l)
{
	return bs_add_range(l, w->code, &w->n_code);
}

bool bs_watch_add_frame(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_set_light(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[5];

	if (w->light.used || l->n != 6 || !bs_numbers(l, 1, 5, v) || !v[2] || v[1] + v[2] < v[1] || !v[3] ||
	    v[3] > sizeof(uint64_t) || !v[4])
		return false;
	w->light = (struct bs_light){.used = true, .id = (uint32_t)v[0], .start = v[1], .size = v[2],
				     .cell = (uint32_t)v[3], .colour = v[4]};
	return true;
}

bool bs_watch_set_begins(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t id;

	if (l->n != 2 || !bs_number(l->word[1], &id) || !w->frame.used)
		return false;
	for (size_t i = 0; i < w->n_hooks; i++)
		if (w->hooks[i].id == id)
			w->hooks[i].frame = w->frame.waits = true;
	return w->frame.waits;
}
