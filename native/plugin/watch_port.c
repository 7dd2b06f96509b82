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

static bool port_of(struct bs_transfer *t, const char *word)
{
	t->port = BS_NO_REGISTER;
	return !strcmp(word, "next") || bs_register_name(word, &t->port);
}

/* Where memory is on the other side: the register that counts, and the prefix that has it count. */
static bool repeats(struct bs_transfer *t, const struct bs_line *l, size_t at)
{
	return t->port != BS_NO_REGISTER && bs_register_name(l->word[at], &t->count) &&
	       is_byte(l->word[at + 1], &t->repeat_prefix);
}

/* Reads what both kinds of outputs begin with, and what narrows them, which they end in at word `end`. */
static bool output(struct bs_transfer *t, const struct bs_line *l, size_t end)
{
	if ((l->n != end && l->n != end + 2) || !is_byte(l->word[1], &t->opcode) || !is_size(l->word[2], &t->bytes))
		return false;
	if (!port_of(t, l->word[3]) || !bs_register_name(l->word[4], &t->value))
		return false;
	return l->n == end || (is_byte(l->word[end], &t->narrow_prefix) && is_size(l->word[end + 1], &t->narrow_bytes));
}

static bool keep(struct bs_watch *w, const struct bs_transfer *t)
{
	if (w->n_transfer == BS_MAX_TRANSFER)
		return false;
	w->transfer[w->n_transfer++] = *t;
	return true;
}

bool bs_watch_add_output(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_transfer t = {.in_memory = false};

	return output(&t, l, 5) && keep(w, &t);
}

bool bs_watch_add_outputs(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_transfer t = {.in_memory = true};

	return output(&t, l, 7) && repeats(&t, l, 5) && keep(w, &t);
}

bool bs_watch_add_input(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_transfer t = {.reads = true};

	return l->n == 3 && is_byte(l->word[1], &t.opcode) && port_of(&t, l->word[2]) && keep(w, &t);
}

bool bs_watch_add_inputs(struct bs_watch *w, const struct bs_line *l)
{
	struct bs_transfer t = {.reads = true, .in_memory = true};

	return l->n == 5 && is_byte(l->word[1], &t.opcode) && port_of(&t, l->word[2]) && repeats(&t, l, 3) &&
	       keep(w, &t);
}
