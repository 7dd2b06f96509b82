// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_paced.h"

#define MOST_NS 1000000000000

/* The next one, for the device of that number; NULL when there is no such device, or one of its kind is paced. */
static struct bs_paced *next(struct bs_watch *w, enum bs_paced_kind what, uint64_t id)
{
	for (size_t i = 0; i < w->n_paced; i++)
		if (w->paced[i].what == what)
			return NULL;
	for (size_t i = 0; i < w->n_io && w->n_paced < BS_MAX_PACED; i++)
		if (w->io[i].id == id) {
			w->paced[w->n_paced] = (struct bs_paced){.what = what, .io = &w->io[i]};
			return &w->paced[w->n_paced++];
		}
	return NULL;
}

bool bs_watch_add_paced_serial(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[5];

	if (l->n != 6 || !bs_numbers(l, 1, 5, v))
		return false;
	struct bs_paced *p = next(w, BS_PACED_SERIAL, v[0]);
	if (!p || !v[1] || v[1] > 8 || !v[2] || v[2] > UINT32_MAX || !v[3] || v[3] > BS_MAX_QUEUE || v[4] > MOST_NS)
		return false;
	p->register_bytes = (uint32_t)v[1];
	p->clock_hz = (uint32_t)v[2];
	p->queue_bytes = (uint32_t)v[3];
	p->byte_ns = (int64_t)v[4];
	return true;
}

bool bs_watch_add_paced_card(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[8];

	if (l->n != 9 || !bs_numbers(l, 1, 8, v))
		return false;
	struct bs_paced *p = next(w, BS_PACED_CARD, v[0]);
	if (!p || v[6] > MOST_NS || !v[7])
		return false;
	p->command_at = v[1];
	p->command_bits = v[2];
	p->size_at = v[3];
	p->state_at = v[4];
	p->data_at = v[5];
	p->latency_ns = (int64_t)v[6];
	p->bytes_per_s = v[7];
	return true;
}
