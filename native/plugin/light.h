/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first pixel of a picture in guest memory that is not dark, whoever stores it.
 */
#ifndef BOOTSCOPE_LIGHT_H
#define BOOTSCOPE_LIGHT_H

#include "qemu_api.h"
#include "watch.h"

/*
 * Whether a store shows the first colour of all. `vaddr` is where the guest stored, `info` what; what has
 * been stored of that kind before makes it false. `*offset` is the byte of the picture that is lit.
 */
bool bs_light_store(const struct bs_light *light, qemu_plugin_meminfo_t info, uint64_t vaddr,
		    uint64_t *offset);

#endif
