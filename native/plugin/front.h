/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of our own in front of those of a device: what the guest reads and stores comes here, and goes on to
 * the device if it should. QEMU has no interface for that; it is done as its machines put one region over
 * another, and tried before it counts.
 */
#ifndef BOOTSCOPE_FRONT_H
#define BOOTSCOPE_FRONT_H

#include <stdbool.h>
#include <stdint.h>

struct bs_front;

struct bs_front_does {
	uint64_t (*read)(struct bs_front *f, uint64_t offset, unsigned int bytes);
	void (*write)(struct bs_front *f, uint64_t offset, uint64_t value, unsigned int bytes);
};

#define BS_REGION_ROOM 1024 /* more than any QEMU's region takes */

struct bs_front {
	const struct bs_front_does *does;
	void *behind;	  /* the device's region */
	uint64_t starts;  /* ... and where in it the device's registers are */
	void *device;	  /* QEMU's object */
	uint64_t tried;
	bool trying;
	_Alignas(16) uint8_t region[BS_REGION_ROOM];
};

/*
 * In front of the device at physical address `base`, up to `size` bytes of it, once the machine is complete, with
 * QEMU's big lock held. False, with a reason on stderr, when there is no device, or this QEMU differs.
 */
bool bs_front_put(struct bs_front *f, const struct bs_front_does *does, uint64_t base, uint64_t size);

/* What the device itself says and does. */
uint64_t bs_front_read(struct bs_front *f, uint64_t offset, unsigned int bytes);
void bs_front_write(struct bs_front *f, uint64_t offset, uint64_t value, unsigned int bytes);

#endif
