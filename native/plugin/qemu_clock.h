/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts another clock in the place of QEMU's virtual one.
 *
 * QEMU asks its accelerator for the virtual clock, by a table of functions (AccelOpsClass in QEMU's
 * include/system/accel-ops.h); the entries for the clock and for interrupts of CPUs are replaced there. None
 * of that is an interface. So what is needed is looked up and tried first, and refused where it is not as in
 * QEMU 10.0: the table must hold the functions that QEMU exports, in the order of 10.0; the flag that a CPU
 * runs is found by what it says.
 */
#ifndef BOOTSCOPE_QEMU_CLOCK_H
#define BOOTSCOPE_QEMU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* What QEMU is doing when it asks for the time. */
enum bs_moment {
	BS_IN_TURN,	  /* a CPU executes instructions */
	BS_TURN_BEGINS,	  /* a CPU is about to, and asks how many it may */
	BS_BETWEEN_TURNS, /* timers are run, or it is found out when the next one is due */
	BS_OTHER_THREAD,  /* the thread that runs timers while all CPUs sleep */
};

typedef int64_t (*bs_clock_read)(enum bs_moment moment);
typedef void (*bs_interrupt)(enum bs_moment moment, void *cpu, int mask, void (*raise)(void *cpu, int mask));

/*
 * On the thread of the CPUs, before any of them runs. False, with a reason on stderr, which says `what` the
 * clock is for, and how to record `otherwise`.
 */
bool bs_qemu_clock_replace(const char *what, const char *otherwise, bs_clock_read read, bs_interrupt interrupt);

/* While a CPU runs, the first time: ends QEMU where what was found is not what it was taken for. */
void bs_qemu_clock_check(void);

/* By how much QEMU has moved its own clock on because all CPUs slept. */
int64_t bs_qemu_warped_ns(void);

#endif
