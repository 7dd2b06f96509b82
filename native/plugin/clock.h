/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's virtual clock, readable at any instruction.
 *
 * QEMU lets the clock be read only during an I/O access. In between, the instructions executed are
 * counted: every translation block adds its length when it starts, and a callback inside a block
 * takes off what has not run yet. Each I/O access reads the real clock and starts counting anew.
 *
 * When the CPU sleeps, the clock jumps to the next timer and the jump is known only at the first
 * I/O access after the wake-up (the interrupt controller is asked at once). Until then the clock
 * is "adrift": stamps are provisional, and bs_clock_sync() tells by how much to move them.
 *
 * Where there are several CPUs, each has its own time (parallel.h), which is known at the beginning of each
 * of its turns: the clock is never adrift there.
 */
#ifndef BOOTSCOPE_CLOCK_H
#define BOOTSCOPE_CLOCK_H

#include "qemu_api.h"

void bs_clock_init(uint32_t tick_ns);

/* An instruction takes so long, and *waited_ps, which only grows, comes to that (core_clock.h). */
void bs_clock_of_core(int64_t instruction_ps, const int64_t *waited_ps);

/* The count of instructions, for the inline add of each translation block of the only CPU. */
qemu_plugin_u64 bs_clock_counter(void);

/* Adds to it, where there are several CPUs; tells the count. */
uint64_t bs_clock_count(uint64_t insns);

/* The time is `now_ns`, and instructions count from here on. */
void bs_clock_begin(int64_t now_ns);

/* Virtual time, when `rest` instructions counted already have not run yet. */
int64_t bs_clock_now(uint64_t rest);

/* Folds the counted instructions into the base, so that the counter stays small. */
void bs_clock_fold(void);

/* The CPU is about to execute the instruction that puts it to sleep. */
void bs_clock_sleep(uint64_t rest);
bool bs_clock_adrift(void);

struct bs_clock_jump {
	bool slept;	   /* the clock was adrift */
	int64_t sleep_ns;  /* when it fell asleep */
	int64_t wake_ns;   /* when it woke up */
};

/* Only inside an I/O access: takes the real clock as the new base. */
struct bs_clock_jump bs_clock_sync(void);

/* Resynchronisations so far and the largest error among them, idle ones left out. */
void bs_clock_quality(uint64_t *syncs, int64_t *worst_ns);

#endif
