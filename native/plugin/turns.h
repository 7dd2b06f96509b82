/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The turns of several CPUs, and what is seen and recorded in them; parallel.h says what time it is there. */
#ifndef BOOTSCOPE_TURNS_H
#define BOOTSCOPE_TURNS_H

#include "qemu_api.h"
#include "watch.h"

/* Once all CPUs are there and none has run. False, with a reason on stderr, where that cannot be done. */
bool bs_turns_start(const struct bs_watch *w);

/* A block of so many instructions begins. True when something is due: bs_turns_due() sees to it. */
bool bs_turns_block(uint64_t insns);
void bs_turns_due(uint64_t pc, int64_t now_ns);

/* The recording ends: those that sleep have slept until now. */
void bs_turns_over(int64_t now_ns);

/* At the translation of an instruction that puts the CPU to sleep, or ends its turn, or neither. */
void bs_turns_waits(struct qemu_plugin_insn *insn, bool sleeps, bool yields);

#endif
