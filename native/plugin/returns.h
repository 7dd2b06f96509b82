/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Returns of functions, wherever they go on: also of one that ends by a jump into another function, which
 * no address inside of it tells.
 *
 * When such a function begins, the place that it returns to and the stack pointer after that are kept. It
 * has returned when a block begins at that place with that stack pointer: each task has a stack of its own,
 * and each call a place of its own on it. The stack of a task that ends is given to another one, which may
 * call the same functions from the same places: what the first one has not returned from is forgotten then.
 */
#ifndef BOOTSCOPE_RETURNS_H
#define BOOTSCOPE_RETURNS_H

#include "qemu_api.h"
#include "watch.h"

/* Functions that have begun and not returned, at most; of more, the first ones are forgotten. */
#define BS_MAX_EXPECTED 4096

/* Only where a hook of the watch file asks for returns. */
void bs_returns_init(const struct bs_watch *w);

/* The function with hook h begins. */
void bs_returns_expect(const struct bs_hook *h);

/* The task that runs ends. */
void bs_returns_over(void);

/* How many are to return, for a condition on blocks of the only CPU. */
qemu_plugin_u64 bs_returns_counter(void);

/* Whether one may return to that address: pages lie at any multiple of their size, wherever they are seen. */
bool bs_returns_may(uint64_t vaddr);

/* A block of `rest` instructions, counted already, begins at pc. */
void bs_returns_block(uint64_t pc, uint64_t rest);

#endif
