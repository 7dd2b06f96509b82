/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The watch file: what to look at on this board. One item a line, '#' starts a comment. Numbers
 * are decimal or 0x hexadecimal, times are nanoseconds of the virtual clock.
 *
 *   tick NS                                virtual time of one instruction (2^icount shift)
 *   io ID PHYS SIZE                        record every store to these device registers
 *   text ID IO OFFSET HEX                  report when these bytes are stored to IO at OFFSET
 *   hook ID VADDR once|every [reg N]...[str N [is HEX]]   program address; register N's value, or
 *                                          the text that register N points to; with 'is', only
 *                                          when that text is this one
 *   code LO HI                             store watches look only at code in here (repeatable)
 *   frame ID PHYS SIZE CELL FILE           a picture in memory, complete when each cell of CELL
 *                                          bytes was stored to; the first one is copied to FILE
 *   idle SIZE MASK VALUE                   an instruction of SIZE bytes that puts the CPU to sleep
 *   sample NS                              take the program counter this often
 *   stop hook|frame|text ID                end the recording there
 *   limit NS                               end it at this time at the latest
 *   quiet NS                               end it when nothing was seen for so long
 */
#ifndef BOOTSCOPE_WATCH_H
#define BOOTSCOPE_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BS_MAX_IO 16
#define BS_MAX_TEXT 32
#define BS_MAX_TEXT_BYTES 120
#define BS_MAX_CODE 8
#define BS_MAX_IDLE 8
#define BS_MAX_CAPTURE 4
#define BS_MAX_HOOK_TEXT 128
#define BS_PATH_BYTES 1024

struct bs_io {
	uint32_t id;
	uint64_t start, end;
};

struct bs_text {
	uint32_t id, io;
	uint64_t offset;
	uint8_t bytes[BS_MAX_TEXT_BYTES];
	size_t size;
	uint8_t seen[BS_MAX_TEXT_BYTES]; /* ring of the bytes last stored */
	size_t seen_at, seen_total;
	bool stop;
};

struct bs_hook {
	uint32_t id;
	uint64_t vaddr;
	bool once, done, stop;
	int8_t regs[BS_MAX_CAPTURE]; /* register numbers to record, -1 ends */
	int8_t text_reg;	     /* register that points to a text, or -1 */
	uint8_t *only;		     /* the only text that counts, or NULL */
	size_t only_size;
};

struct bs_range {
	uint64_t start, end;
};

struct bs_frame {
	bool used, stop;
	uint32_t id;
	uint64_t start, size;
	uint32_t cell;
	char path[BS_PATH_BYTES];
};

struct bs_idle {
	uint32_t size, mask, value;
};

struct bs_watch {
	uint32_t tick_ns;
	struct bs_io io[BS_MAX_IO];
	size_t n_io;
	struct bs_text text[BS_MAX_TEXT];
	size_t n_text;
	struct bs_hook *hooks; /* sorted by vaddr */
	size_t n_hooks;
	struct bs_range code[BS_MAX_CODE];
	size_t n_code;
	struct bs_idle idle[BS_MAX_IDLE];
	size_t n_idle;
	struct bs_frame frame;
	int64_t sample_ns, limit_ns, quiet_ns;
};

/* Reads the file into w. On an error says which line on stderr and returns false. */
bool bs_watch_load(struct bs_watch *w, const char *path);

/* The first hook at vaddr, or NULL; *n tells how many follow at the same address. */
struct bs_hook *bs_watch_hooks_at(struct bs_watch *w, uint64_t vaddr, size_t *n);

#endif
