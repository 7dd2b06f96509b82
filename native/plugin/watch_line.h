/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of the watch file, parted into words, and what a word may be. All return false for anything else. */
#ifndef BOOTSCOPE_WATCH_LINE_H
#define BOOTSCOPE_WATCH_LINE_H

#include "watch.h"

#define BS_MAX_WORDS 40

struct bs_line {
	char *word[BS_MAX_WORDS];
	size_t n;
	bool too_long;
};

/* Parts the text in place. */
struct bs_line bs_line_split(char *text);

bool bs_number(const char *text, uint64_t *value);

/* Numbers from word `first` on, as many as asked for. */
bool bs_numbers(const struct bs_line *l, size_t first, size_t n, uint64_t *values);

/* At most BS_MAX_TEXT_BYTES of them. */
bool bs_hex_bytes(const char *text, uint8_t *bytes, size_t *size);

bool bs_register_name(const char *text, uint8_t *number);

/* REG, REG+OFF or REG+OFF>OFF...; offsets may be negative. */
bool bs_chain(const char *text, struct bs_chain *c);

/* For lines of one time. */
bool bs_time(const struct bs_line *l, int64_t *ns);

/* For lines of a range LO HI, or of a pattern SIZE MASK VALUE: add it to `n` others; no more than BS_MAX_CODE or
 * BS_MAX_IDLE in all. */
bool bs_add_range(const struct bs_line *l, struct bs_range *ranges, size_t *n);
bool bs_add_pattern(const struct bs_line *l, struct bs_opcode *patterns, size_t *n);

#endif
