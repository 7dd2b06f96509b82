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

/* Adds the hook that a line describes. */
bool bs_watch_add_hook(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_routine(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_over(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_stage(struct bs_watch *w, const struct bs_line *l);

/* How long nothing may be seen. */
bool bs_watch_set_quiet(struct bs_watch *w, const struct bs_line *l);

#endif
