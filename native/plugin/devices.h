/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores to the registers of devices, and the texts that go through them. */
#ifndef BOOTSCOPE_DEVICES_H
#define BOOTSCOPE_DEVICES_H

#include "qemu_api.h"
#include "watch.h"

/* A callback for memory, whose udata is the watch. At any access to a device the clock is true again. */
/* Inside an access to a device: takes QEMU's time, and ends a sleep. */
void bs_devices_sync(void);

void bs_devices_accessed(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata);

/* What was given to an I/O port, if it is a watched one. */
void bs_ports_output(struct bs_watch *w, uint64_t port, uint8_t bytes, uint64_t value, int64_t now_ns);

#endif
