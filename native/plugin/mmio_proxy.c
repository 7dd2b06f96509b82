// SPDX-License-Identifier: GPL-2.0-or-later
#include "mmio_proxy.h"

#include <inttypes.h>
#include <stdio.h>

#include "qemu_api.h"

#define TRIED 0x62736370u
#define PRIORITY 1000 /* above all regions that machines lay over others */

static uint64_t read_proxy(void *udata, uint64_t offset, unsigned int bytes)
{
	struct bs_proxy *f = udata;

	return f->trying ? TRIED : f->does->read(f, offset, bytes);
}

static void write_proxy(void *udata, uint64_t offset, uint64_t value, unsigned int bytes)
{
	struct bs_proxy *f = udata;

	if (f->trying)
		f->tried = value;
	else
		f->does->write(f, offset, value, bytes);
}

static const struct bs_region_ops ops = {.read = read_proxy,
					 .write = write_proxy,
					 .endianness = BS_LITTLE_ENDIAN,
					 .valid = {.least = 1, .most = 8},
					 .does = {.least = 1, .most = 8}};

static unsigned int in_powers(unsigned int bytes)
{
	return (unsigned int)__builtin_ctz(bytes);
}

uint64_t bs_proxy_read(struct bs_proxy *f, uint64_t offset, unsigned int bytes)
{
	uint64_t value = 0;

	memory_region_dispatch_read(f->behind, f->starts + offset, &value, in_powers(bytes), 0);
	return value;
}

void bs_proxy_write(struct bs_proxy *f, uint64_t offset, uint64_t value, unsigned int bytes)
{
	memory_region_dispatch_write(f->behind, f->starts + offset, value, in_powers(bytes), 0);
}

/* Whether QEMU calls our functions, with what it should. */
static bool works(struct bs_proxy *f)
{
	uint64_t value = 0;

	f->trying = true;
	memory_region_dispatch_read(f->region, 0, &value, in_powers(4), 0);
	memory_region_dispatch_write(f->region, 0, TRIED + 1, in_powers(4), 0);
	f->trying = false;
	return value == TRIED && f->tried == TRIED + 1;
}

bool bs_proxy_add(struct bs_proxy *f, const struct bs_proxy_ops *does, uint64_t base, uint64_t size)
{
	if (!memory_region_find || !memory_region_owner || !memory_region_init_io || !get_system_memory ||
	    !memory_region_add_subregion_overlap || !memory_region_dispatch_read || !memory_region_dispatch_write) {
		fputs("bootscope plugin: this QEMU does not let a plugin answer for a device; record without "
		      "guest-clock=board, or with QEMU 10.0\n",
		      stderr);
		return false;
	}
	struct bs_region_found found = memory_region_find(get_system_memory(), base, size);
	f->does = does;
	f->behind = found.region;
	f->starts = found.starts;
	f->device = found.region ? memory_region_owner(found.region) : NULL;
	if (!f->device) {
		fprintf(stderr, "bootscope plugin: this machine has no device at 0x%" PRIx64 "\n", base);
		return false;
	}
	memory_region_init_io(f->region, NULL, &ops, f, "bootscope", found.size[0]);
	if (!works(f)) {
		fputs("bootscope plugin: this QEMU's regions are not as in QEMU 10.0; record without "
		      "guest-clock=board, or with QEMU 10.0\n",
		      stderr);
		return false;
	}
	memory_region_add_subregion_overlap(get_system_memory(), base, f->region, PRIORITY);
	return true;
}
