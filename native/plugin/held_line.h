/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device's interrupt line that rises later than in QEMU, whose devices are done at once: when the device of a
 * board would be.
 */
#ifndef BOOTSCOPE_HELD_LINE_H
#define BOOTSCOPE_HELD_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define BS_TIMER_ROOM 256 /* more than any QEMU's timer takes */

struct bs_held_line {
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
bool bs_held_take(struct bs_held_line *line, void *device);

/* Around each access of the guest's to the device. In between, `until_ns` may be set: no interrupt before. */
void bs_held_enter(struct bs_held_line *line);
void bs_held_leave(struct bs_held_line *line, int64_t now_ns);

#endif
