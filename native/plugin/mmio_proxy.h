/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sees every access to a device's registers before the device does, and may answer it instead.
 *
 * QEMU has no interface for plugins to do this. A memory region over that of the device does it, as machines lay
 * one over another. Layouts of QEMU's structures are assumed; an access for trial shows whether they are right.
 */
#ifndef BOOTSCOPE_MMIO_PROXY_H
#define BOOTSCOPE_MMIO_PROXY_H

#include <stdbool.h>
#include <stdint.h>

struct bs_proxy;

struct bs_proxy_ops {
	uint64_t (*read)(struct bs_proxy *f, uint64_t offset, unsigned int bytes);
	void (*write)(struct bs_proxy *f, uint64_t offset, uint64_t value, unsigned int bytes);
};

#define BS_REGION_ROOM 1024 /* more than any QEMU's region takes */

struct bs_proxy {
	const struct bs_proxy_ops *does;
	void *behind;	  /* the device's region */
	uint64_t starts;  /* ... and where in it the device's registers are */
	void *device;	  /* QEMU's object */
	uint64_t tried;
	bool trying;
	_Alignas(16) uint8_t region[BS_REGION_ROOM];
};

/*
 * In proxy of the device at physical address `base`, up to `size` bytes of it, once the machine is complete, with
 * QEMU's big lock held. False, with a reason on stderr, when there is no device, or this QEMU differs.
 */
bool bs_proxy_add(struct bs_proxy *f, const struct bs_proxy_ops *does, uint64_t base, uint64_t size);

/* What the device itself says and does. */
uint64_t bs_proxy_read(struct bs_proxy *f, uint64_t offset, unsigned int bytes);
void bs_proxy_write(struct bs_proxy *f, uint64_t offset, uint64_t value, unsigned int bytes);

#endif
