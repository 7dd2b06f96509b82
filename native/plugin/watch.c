// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registers.h"
#include "watch_classes.h"
#include "watch_device.h"
#include "watch_end.h"
#include "watch_flash.h"
#include "watch_hook.h"
#include "watch_line.h"
#include "watch_machine.h"
#include "watch_paced.h"
#include "watch_port.h"
#include "watch_sample.h"
#include "watch_screen.h"
#include "watch_timing.h"

static const struct {
	const char *what;
	bool (*add)(struct bs_watch *w, const struct bs_line *l);
} items[] = {
	{"tick", bs_watch_set_tick},
	{"word", bs_watch_set_word},
	{"register", bs_watch_set_register},
	{"segment", bs_watch_set_segment},
	{"condition", bs_watch_add_condition},
	{"idle", bs_watch_add_idle},
	{"yield", bs_watch_add_yield},
	{"quantum", bs_watch_set_quantum},

	{"io", bs_watch_add_io},
	{"disk", bs_watch_set_disk},
	{"config", bs_watch_set_config},
	{"text", bs_watch_add_text},

	{"flash", bs_watch_set_flash},
	{"flash-cache", bs_watch_set_flash_cache},
	{"flash-switched", bs_watch_set_flash_switched},
	{"flash-second", bs_watch_set_flash_second},
	{"flash-window", bs_watch_add_flash_window},

	{"port", bs_watch_add_port},
	{"ports", bs_watch_set_ports},
	{"prefix", bs_watch_add_prefix},
	{"output", bs_watch_add_output},
	{"outputs", bs_watch_add_outputs},
	{"input", bs_watch_add_input},
	{"inputs", bs_watch_add_inputs},

	{"paced-port", bs_watch_add_paced_port},
	{"paced-card", bs_watch_add_paced_card},

	{"hook", bs_watch_add_hook},
	{"move", bs_watch_add_move},
	{"over", bs_watch_add_over},
	{"routine", bs_watch_add_routine},

	{"code", bs_watch_add_code},
	{"frame", bs_watch_add_frame},
	{"light", bs_watch_set_light},
	{"begins", bs_watch_set_begins},

	{"sample", bs_watch_set_sample},
	{"stack", bs_watch_add_stack},
	{"return", bs_watch_add_return},
	{"call", bs_watch_add_call},
	{"usage", bs_watch_add_usage},
	{"stage", bs_watch_add_stage},
	{"owner", bs_watch_add_owner},

	{"stop", bs_watch_add_stop},
	{"limit", bs_watch_set_limit},
	{"quiet", bs_watch_set_quiet},
	{"pause", bs_watch_set_pause},

	{"timing", bs_watch_set_timing},
	{"cache", bs_watch_set_cache},
	{"branches", bs_watch_set_branches},
	{"control", bs_watch_set_control},
	{"control-off", bs_watch_set_control_off},
	{"control-by", bs_watch_add_control_by},
	{"clock", bs_watch_add_clock},
	{"repeat", bs_watch_add_repeat},
	{"large", bs_watch_add_large},
	{"uncached", bs_watch_add_uncached},
	{"write-combining", bs_watch_set_write_combining},
	{"switched", bs_watch_add_switched},
	{"part", bs_watch_add_part},
	{"price", bs_watch_set_price},

	{"costs", bs_watch_add_costs},
	{"loads", bs_watch_add_loads},
	{"reads", bs_watch_add_reads},
	{"split", bs_watch_set_split},
	{"flat-passes", bs_watch_set_flat_passes},
};

static bool add_item(struct bs_watch *w, const struct bs_line *l)
{
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		if (!strcmp(l->word[0], items[i].what))
			return items[i].add(w, l);
	return false;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct bs_hook *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

bool bs_watch_load(struct bs_watch *w, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	bool good = true;

	if (!f) {
		fprintf(stderr, "bootscope plugin: %s: %s\n", path, strerror(errno));
		return false;
	}
	w->pc = w->sp = w->link = w->flags = BS_NO_REGISTER;
	for (int nr = 1; good && getline(&text, &room, f) >= 0; nr++) {
		char *copy = strdup(text);
		struct bs_line l = bs_line_split(text);
		good = l.n == 0 || (!l.too_long && add_item(w, &l));
		if (!good)
			fprintf(stderr, "bootscope plugin: %s:%d: not understood: %s", path, nr, copy);
		free(copy);
	}
	free(text);
	fclose(f);
	if (good && (!w->tick_ns || !w->word_bytes)) {
		fprintf(stderr, "bootscope plugin: %s: no '%s' line\n", path, w->tick_ns ? "word" : "tick");
		good = false;
	}
	if (w->n_hooks)
		qsort(w->hooks, w->n_hooks, sizeof(*w->hooks), by_vaddr);
	return good;
}

struct bs_hook *bs_watch_hooks_at(struct bs_watch *w, uint64_t vaddr, size_t *n)
{
	size_t lo = 0, hi = w->n_hooks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (w->hooks[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	*n = 0;
	while (lo + *n < w->n_hooks && w->hooks[lo + *n].vaddr == vaddr)
		++*n;
	return *n ? &w->hooks[lo] : NULL;
}
