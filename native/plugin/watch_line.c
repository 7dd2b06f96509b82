// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "watch_line.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "registers.h"

struct bs_line bs_line_split(char *text)
{
	struct bs_line l = {.n = 0};
	char *save = NULL;

	for (char *w = strtok_r(text, " \t\n", &save); w && *w != '#'; w = strtok_r(NULL, " \t\n", &save))
		if (l.n < BS_MAX_WORDS)
			l.word[l.n++] = w;
		else
			l.too_long = true;
	return l;
}

bool bs_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && isdigit((unsigned char)*text) && !*end;
}

bool bs_numbers(const struct bs_line *l, size_t first, size_t n, uint64_t *values)
{
	if (l->n < first + n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!bs_number(l->word[first + i], &values[i]))
			return false;
	return true;
}

bool bs_hex_bytes(const char *text, uint8_t *bytes, size_t *size)
{
	size_t digits = strlen(text);

	if (!digits || digits % 2 || digits / 2 > BS_MAX_TEXT_BYTES)
		return false;
	for (size_t i = 0; i < digits; i += 2) {
		const char byte[] = {text[i], text[i + 1], 0};
		if (!isxdigit((unsigned char)byte[0]) || !isxdigit((unsigned char)byte[1]))
			return false;
		bytes[i / 2] = (uint8_t)strtoul(byte, NULL, 16);
	}
	*size = digits / 2;
	return true;
}

bool bs_register_name(const char *text, uint8_t *number)
{
	*number = bs_register_number(text, strlen(text));
	return *number != BS_NO_REGISTER;
}

bool bs_chain(const char *text, struct bs_chain *c)
{
	char *end = (char *)text + strcspn(text, "+");

	*c = (struct bs_chain){.reg = bs_register_number(text, (size_t)(end - text))};
	if (c->reg == BS_NO_REGISTER)
		return false;
	while (*end) {
		bool narrow = c->n && *end == ':';
		if (c->n == BS_MAX_STEPS || (!narrow && *end != (c->n ? '>' : '+')))
			return false;
		const char *from = end + 1;
		long step = strtol(from, &end, 0);
		if (!isdigit((unsigned char)from[*from == '-']) || step > INT32_MAX || step < INT32_MIN)
			return false;
		c->narrow[c->n] = narrow;
		c->step[c->n++] = (int32_t)step;
	}
	return true;
}

bool bs_time(const struct bs_line *l, int64_t *ns)
{
	uint64_t v;

	if (l->n != 2 || !bs_number(l->word[1], &v) || v > INT64_MAX)
		return false;
	*ns = (int64_t)v;
	return true;
}

bool bs_add_range(const struct bs_line *l, struct bs_range *ranges, size_t *n)
{
	uint64_t v[2];

	if (*n == BS_MAX_CODE || l->n != 3 || !bs_numbers(l, 1, 2, v) || v[0] >= v[1])
		return false;
	ranges[(*n)++] = (struct bs_range){v[0], v[1]};
	return true;
}

bool bs_add_pattern(const struct bs_line *l, struct bs_opcode *patterns, size_t *n)
{
	uint64_t v[3];

	/* Opcodes are compared as one word; no instruction is of no bytes. */
	if (*n == BS_MAX_IDLE || l->n != 4 || !bs_numbers(l, 1, 3, v) || !v[0] || v[0] > sizeof(uint64_t))
		return false;
	patterns[(*n)++] = (struct bs_opcode){(uint32_t)v[0], v[1], v[2]};
	return true;
}
