/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's clock as on a core with caches and memory, on a machine with one CPU.
 *
 * QEMU's clock counts instructions. Here it passes with what the core takes for them, and with all that it
 * waits for (timing.h): timers, time-outs and loops that look at a clock see the core's time. QEMU's virtual
 * clock is replaced (qemu_clock.h).
 *
 * QEMU runs instructions until the next timer, and works out how many by its own clock; so a turn of the CPU is
 * ended when that timer is due by this one, at the beginning of a block. A timer is late by a block at most.
 */
#ifndef BOOTSCOPE_CORE_CLOCK_H
#define BOOTSCOPE_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "watch.h"

/*
 * Before the CPU runs, on its thread. Does nothing where the watch file has no prices. False, with a reason on
 * stderr, for a QEMU in which the clock cannot be replaced.
 */
bool bs_core_clock_start(const struct bs_watch *w);

/* When the next timer is due. Then bs_core_clock_end_turn() has QEMU look for it. */
int64_t bs_core_clock_due_ns(void);
void bs_core_clock_end_turn(void);

/* The CPU is about to execute the instruction that puts it to sleep. */
void bs_core_clock_sleep(void);

#endif
