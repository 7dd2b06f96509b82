/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is recorded when the program gets to a hooked address. */
#ifndef BOOTSCOPE_HOOKS_H
#define BOOTSCOPE_HOOKS_H

#include "watch.h"

/* The hook's address, as it is now, was reached; `rest` instructions of its block were still to run. */
void bs_hook_reached(struct bs_watch *w, struct bs_hook *h, uint64_t vaddr, uint64_t rest);

#endif
