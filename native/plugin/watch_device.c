// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_device.h"

#include "virtio_disk.h"

bool bs_watch_add_io(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];

	if (w->n_io == BS_MAX_IO || l->n != 4 || !bs_numbers(l, 1, 3, v) || !v[2] || v[1] + v[2] < v[1])
		return false;
	w->io[w->n_io++] = (struct bs_io){.id = (uint32_t)v[0], .start = v[1], .end = v[1] + v[2]};
	return true;
}

bool bs_watch_set_disk(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t id;

	if (l->n != 2 || !bs_number(l->word[1], &id))
		return false;
	for (size_t i = 0; i < w->n_io; i++)
		if (w->io[i].id == id)
			return w->io[i].disk = bs_disk_init();
	return false;
}

bool bs_watch_set_config(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (w->config.end || l->n != 3 || !bs_numbers(l, 1, 2, v) || !v[1] || v[0] + v[1] < v[0])
		return false;
	w->config = (struct bs_range){v[0], v[0] + v[1]};
	return true;
}

bool bs_watch_add_text(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];
	struct bs_text *t = &w->text[w->n_text];

	if (w->n_text == BS_MAX_TEXT || l->n != 5 || !bs_numbers(l, 1, 3, v))
		return false;
	t->id = (uint32_t)v[0];
	t->io = (uint32_t)v[1];
	t->offset = v[2];
	if (!bs_hex_bytes(l->word[4], t->bytes, &t->size))
		return false;
	w->n_text++;
	return true;
}
