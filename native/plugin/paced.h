/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices that take their time: in the guest's own clock, so that what the board does meanwhile goes on.
 *
 * QEMU's devices are done at once. Here a device is done when that of the board would be. A program that asks it
 * until then waits: the clock goes on to that time. One that sleeps until the interrupt sleeps: the interrupt
 * comes then (held_line.h).
 */
#ifndef BOOTSCOPE_PACED_H
#define BOOTSCOPE_PACED_H

#include "watch.h"

/* While the plugin is installed: puts itself in front of the devices when the machine is complete. Ends QEMU
 * with a reason where that cannot be done. False for a QEMU that does not say when. */
bool bs_paced_init(struct bs_watch *w);

/* Inside an access of the guest's: what time it is. */
int64_t bs_paced_now(void);

/* The CPU waits for device `io`, until then. Returns what time it is. */
int64_t bs_paced_wait(uint32_t io, int64_t until_ns);

/* Something is recorded: so are the waits before it. */
void bs_paced_record(void);

#endif
