// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_flash.h"

#include <string.h>

#include "cpus.h"
#include "flash.h"

bool bs_watch_set_flash(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_set_flash_cache(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_set_flash_switched(struct bs_watch *w, const struct bs_line *l)
{
	if (!w->flash.cached || l->n != 1)
		return false;
	return w->flash.switched = true;
}

bool bs_watch_set_flash_second(struct bs_watch *w, const struct bs_line *l)
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

bool bs_watch_add_flash_window(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];
	struct bs_flash *f = &w->flash;

	if (!f->cached || f->n_windows == BS_MAX_WINDOWS || l->n != 4 || !bs_numbers(l, 1, 3, v) || v[1] > v[2])
		return false;
	f->windows[f->n_windows++] = (struct bs_window){(uint32_t)v[0], {v[1], v[2]}};
	return true;
}
