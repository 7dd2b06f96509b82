/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time of several CPUs that work at once.
 *
 * QEMU runs CPUs one after the other, in turns, and its instruction clock adds up what all of them execute.
 * Here every CPU has a time of its own, which passes with its own instructions only. QEMU's virtual clock is
 * replaced by it: in a turn, the guest and the devices it touches see the time of the CPU whose turn it is;
 * between turns, timers see the time up to which all CPUs that are awake have come, the past. A turn ends
 * when its CPU is a quantum ahead of another one, or at the next timer, so that no CPU is ahead of another one
 * that is awake by more than the quantum and a block of instructions.
 *
 * - A CPU that sleeps holds nobody up. What wakes it says when: the CPU that sends it an interrupt, or a
 *   timer; from there on it has that time.
 * - An instruction that gives up the rest of a turn, as loops have that wait for another CPU, moves its CPU
 *   on to when it looks again, soon at first and less often the longer it has waited.
 * - What the guest reads never goes back, whichever CPU reads it: a counter that all CPUs share, as
 *   kernels expect it. It may be ahead of the time of the CPU that reads it by up to a quantum.
 *
 * Whatever is earlier than the past has happened: records are held back until then and written in the
 * order of their times.
 */
#ifndef BOOTSCOPE_PARALLEL_H
#define BOOTSCOPE_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Once all CPUs are there and none has run, on their thread. False, with a reason on stderr, for a QEMU
 * in which the clock cannot be replaced.
 */
bool bs_parallel_start(int64_t tick_ns, int64_t quantum_ns);

/* The time of the CPU that runs. Only inside an I/O access. */
int64_t bs_parallel_now(void);

/* No CPU will do anything before this time. */
int64_t bs_parallel_past(void);

/* When the turn of the CPU that runs is over; bs_parallel_end_turn() has QEMU end it. */
int64_t bs_parallel_limit(void);
void bs_parallel_end_turn(void);

/* The CPU that runs is about to execute an instruction that puts it to sleep, or that ends its turn. */
void bs_parallel_sleeps(void);
void bs_parallel_yields(void);

/* It has not: it executes the next block. */
void bs_parallel_runs_on(void);

/* What a turn begins with: stretches of sleep that are over. False when there is none (any more). */
struct bs_slept {
	bool all; /* all CPUs slept, not only that of this turn */
	int64_t sleep_ns, wake_ns;
};
bool bs_parallel_slept(struct bs_slept *slept);

/* Whether a CPU sleeps, and since when. */
bool bs_parallel_asleep(unsigned int cpu, int64_t *since_ns);

/* How long the CPU of this turn has waited for others without looking, since this was last asked. */
int64_t bs_parallel_waited_ns(void);

/* Called at the beginning of each turn, and when its limit has become an earlier one. */
void bs_parallel_on_turn(void (*begins)(int64_t now_ns), void (*shorter)(void));

#endif
