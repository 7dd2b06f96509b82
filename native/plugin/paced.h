/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices that take as long as those of the board, in the guest's own clock, so that other work goes on meanwhile.
 *
 * QEMU's devices are done at once. A program that polls such a device waits: the clock moves on to when the device
 * of the board is done. A program that sleeps until the interrupt sleeps: the interrupt comes then (held_irq.h).
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
