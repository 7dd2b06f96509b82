// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch_port.h"

#include <string.h>

#include "registers.h"

bool bs_watch_add_port(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[3];

	if (w->n_port == BS_MAX_IO || l->n != 4 || !bs_numbers(l, 1, 3, v) || !v[2] || v[1] + v[2] < v[1])
		return false;
	w->port[w->n_port++] = (struct bs_io){.id = (uint32_t)v[0], .start = v[1], .end = v[1] + v[2]};
	return true;
}

bool bs_watch_set_ports(struct bs_watch *w, const struct bs_line *l)
{
	return l->n == 2 && bs_number(l->word[1], &w->port_mask) && w->port_mask;
}

bool bs_watch_add_prefix(struct bs_watch *w, const struct bs_line *l)
{
	uint64_t v[2];

	if (w->n_prefix == BS_MAX_PREFIX || l->n != 3 || !bs_numbers(l, 1, 2, v) || v[0] > v[1] || v[1] > UINT8_MAX)
		return false;
	w->prefix[w->n_prefix++] = (struct bs_range){v[0], v[1] + 1};
	return true;
}

static bool is_byte(const char *text, uint8_t *byte)
{
	uint64_t v;

	if (!bs_number(text, &v) || v > UINT8_MAX)
		return false;
	*byte = (uint8_t)v;
	return true;
}

static bool is_size(const char *text, uint8_t *bytes)
{
	return is_byte(text, bytes) && *bytes && *bytes <= 4;
}

/* Reads what both kinds begin with, and what narrows them, which they end in at word `end`. */
static bool common(struct bs_output *o, const struct bs_line *l, size_t end)
{
	if ((l->n != end && l->n != end + 2) || !is_byte(l->word[1], &o->opcode) || !is_size(l->word[2], &o->bytes))
		return false;
	o->port = BS_NO_REGISTER;
	if (strcmp(l->word[3], "next") && !bs_register_name(l->word[3], &o->port))
		return false;
	if (!bs_register_name(l->word[4], &o->value))
		return false;
	return l->n == end || (is_byte(l->word[end], &o->narrow_prefix) && is_size(l->word[end + 1], &o->narrow_bytes));
}

static bool keep(struct bs_watch *w, const struct bs_output *o)
{
	if (w->n_output == BS_MAX_OUTPUT)
		return false;
	w->output[w->n_output++] = *o;
	return true;
}

bool bs_watch_add_output(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_output o = {.in_memory = false};

	return common(&o, l, 5) && keep(w, &o);
}

bool bs_watch_add_outputs(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_output o = {.in_memory = true};

	return common(&o, l, 7) && o.port != BS_NO_REGISTER && bs_register_name(l->word[5], &o.count) &&
	       is_byte(l->word[6], &o.repeat_prefix) && keep(w, &o);
}
