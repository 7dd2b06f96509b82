/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores to the registers of devices, and the texts that go through them. */
#ifndef BOOTSCOPE_DEVICES_H
#define BOOTSCOPE_DEVICES_H

#include "qemu_api.h"

/* A callback for memory, whose udata is the watch. At any access to a device the clock is true again. */
void bs_devices_accessed(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata);

#endif
