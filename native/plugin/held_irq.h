/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds a device's interrupt back. QEMU's devices are done at once, and raise it at once; here it rises when the
 * device of the board would raise it.
 */
#ifndef BOOTSCOPE_HELD_IRQ_H
#define BOOTSCOPE_HELD_IRQ_H

#include <stdbool.h>
#include <stdint.h>

#define BS_TIMER_ROOM 256 /* more than any QEMU's timer takes */

struct bs_held_irq {
	void *goes_to;	 /* QEMU's line as it was */
	bool inside;	 /* the guest accesses the device: what comes of it is settled afterwards */
	bool high, told; /* what the device says, and what its interrupt controller knows */
	int64_t until_ns;
	_Alignas(16) uint8_t timer[BS_TIMER_ROOM];
};

/*
 * Takes the line of a device, once the machine is complete. False, with a reason on stderr, for a device without
 * one, or a QEMU that differs.
 */
bool bs_held_take(struct bs_held_irq *line, void *device);

/* Around each access of the guest's to the device. In between, `until_ns` may be set: no interrupt before. */
void bs_held_enter(struct bs_held_irq *line);
void bs_held_leave(struct bs_held_irq *line, int64_t now_ns);

#endif
