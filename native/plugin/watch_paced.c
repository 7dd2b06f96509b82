// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_paced.h"

#include <string.h>

#include "paced_kinds.h"

#define MOST_NS 1000000000000

struct kind {
	const char *name;
	bool (*start)(const struct bs_paced *p);
	bool has_mix_ctrl;
};

static const struct kind ports[] = {
	{"16550", bs_paced_16550_start, false},
	{"imx", bs_paced_imx_start, false},
	{"cadence", bs_paced_cadence_start, false},
	{NULL, NULL, false},
};

static const struct kind cards[] = {
	{"sunxi-mmc", bs_paced_sunxi_mmc_start, false},
	{"sdhci", bs_paced_sdhci_start, false},
	{"usdhc", bs_paced_sdhci_start, true},
	{NULL, NULL, false},
};

/* The next one, of a kind and for the device of that number; NULL when there is no such kind or device, or another
 * device is started alike. */
static struct bs_paced *next(struct bs_watch *w, const struct kind *kinds, const char *name, uint64_t id)
{
	while (kinds->name && strcmp(kinds->name, name))
		kinds++;
	for (size_t i = 0; i < w->n_paced; i++)
		if (w->paced[i].start == kinds->start)
			return NULL;
	for (size_t i = 0; kinds->name && i < w->n_io && w->n_paced < BS_MAX_PACED; i++)
		if (w->io[i].id == id) {
			w->paced[w->n_paced] =
				(struct bs_paced){.start = kinds->start, .has_mix_ctrl = kinds->has_mix_ctrl, .io = &w->io[i]};
			return &w->paced[w->n_paced++];
		}
	return NULL;
}

bool bs_watch_add_paced_port(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[5];

	if (l->n != 7 || !bs_numbers(l, 2, 5, v))
		return false;
	struct bs_paced *p = next(w, ports, l->word[1], v[0]);
	if (!p || !v[1] || v[1] > 8 || !v[2] || v[2] > UINT32_MAX || !v[3] || v[3] > BS_MAX_FIFO || v[4] > MOST_NS)
		return false;
	p->register_bytes = (uint32_t)v[1];
	p->clock_hz = (uint32_t)v[2];
	p->fifo_bytes = (uint32_t)v[3];
	p->byte_ns = (int64_t)v[4];
	return true;
}

bool bs_watch_add_paced_card(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];

	if (l->n != 5 || !bs_numbers(l, 2, 3, v))
		return false;
	struct bs_paced *p = next(w, cards, l->word[1], v[0]);
	if (!p || v[1] > MOST_NS || !v[2])
		return false;
	p->latency_ns = (int64_t)v[1];
	p->bytes_per_s = v[2];
	return true;
}
