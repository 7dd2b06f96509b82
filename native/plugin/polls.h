/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops that ask a device, or a clock of the CPU, again and again, told by the registers that were asked lately. */
#ifndef BOOTSCOPE_POLLS_H
#define BOOTSCOPE_POLLS_H

#include <stdbool.h>
#include <stdint.h>

/* `tick_ns`: what an instruction takes. */
void bs_polls_init(int64_t tick_ns);

/* A load from a device's register at now_ns: whether it was asked for lately; then *waited_ns is the time since
 * the load before. */
bool bs_polls_again(uint64_t address, int64_t now_ns, int64_t *waited_ns);

/* A store to a device ends such a loop. */
void bs_polls_forget(void);

#endif
