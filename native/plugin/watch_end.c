// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_end.h"

#include <string.h>

bool bs_watch_add_stop(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_set_limit(struct bs_watch *w, const struct bs_line *l)
{
	return bs_time(l, &w->limit_ns);
}

bool bs_watch_set_quiet(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3] = {0, 0, 0};

	if ((l->n != 2 && l->n != 4) || !bs_numbers(l, 1, l->n - 1, v))
		return false;
	if (v[0] > INT64_MAX || v[1] > UINT32_MAX || v[2] > INT64_MAX)
		return false;
	w->quiet_ns = (int64_t)v[0];
	w->quiet_hook = (uint32_t)v[1];
	w->quiet_later_ns = (int64_t)v[2];
	return true;
}

bool bs_watch_set_pause(struct bs_watch *w, const struct bs_line *l)
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
