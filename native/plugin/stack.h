/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stack at a sample, reduced to the words that may be return addresses: those that lie in code and
 * follow a call. Which of them are frames and which are left over from earlier calls is found out
 * later, from the program's code; here nothing is known of frames.
 */
#ifndef BOOTSCOPE_STACK_H
#define BOOTSCOPE_STACK_H

#include "watch.h"

/* Records program counter, link register, flags, and the candidates: each with its distance from the stack
 * pointer in words. */
void bs_stack_record(const struct bs_watch *w, uint64_t pc, int64_t now_ns);

#endif
