/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing memory under one common limit, text put into it, and numbers taken out of text.
 *
 * Memory comes straight from the kernel and is moved there when it grows, so nothing is copied and a
 * page costs nothing before it is used. What does not fit is left out whole, and `cut` tells.
 */
#ifndef AGENT_BUF_H
#define AGENT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For what does not run while the system boots: agent.ld puts it behind all else. */
#define LATE __attribute__((section(".late.text"), noinline))
#define LATE_TEXT __attribute__((section(".late.rodata")))

struct buf {
	char *data;
	size_t used, room;
	bool cut;
};

/* How many bytes all buffers together may still grow by. */
extern size_t buf_left;

/* Makes room for `more` bytes after `used`; false where the limit or the machine has no more. */
bool buf_reserve(struct buf *b, size_t more);

bool buf_add(struct buf *b, const void *data, size_t size);
void buf_str(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_num(struct buf *b, uint64_t value);

/* Gives the memory back. */
void buf_free(struct buf *b);

/* The decimal number at *at, which is moved behind it; 0 without a digit. Stays below `end`. */
uint64_t text_num(const char **at, const char *end);

/* The whole of `text` as a number; false when it is none or above `most`. */
bool text_whole(const char *text, uint64_t most, uint64_t *value);

/* Whether `what` is in the `size` bytes at `text`. */
bool text_has(const char *text, size_t size, const char *what);

/* Writes `value` in decimal behind `to` without a final zero byte; returns the number of digits. */
size_t text_put(char *to, uint64_t value);

#endif
