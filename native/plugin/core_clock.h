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

#include "qemu_api.h"
#include "watch.h"

/* Whether the clock is such a one: the watch file has prices of a core, or devices that take their time. */
bool bs_core_clock_used(const struct bs_watch *w);

/*
 * Before the CPU runs, on its thread. Does nothing where the clock is no such one. False, with a reason on
 * stderr, for a QEMU in which the clock cannot be replaced.
 */
bool bs_core_clock_start(const struct bs_watch *w);

/*
 * A block begins. How long a block takes is known only now: ends the turn when a timer is due, and raises
 * bs_core_clock_check() above 0 every `period_ns`, for a callback that is given the CPU's registers and then
 * calls bs_core_clock_checked().
 */
void bs_core_clock_block(int64_t now_ns, int64_t period_ns);
qemu_plugin_u64 bs_core_clock_check(void);
void bs_core_clock_checked(void);

/* Lets QEMU's other thread, which runs timers while the CPU sleeps, know of all waits: before each sleep. */
void bs_core_clock_tell(void);

#endif
