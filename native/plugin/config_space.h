/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a bus's configuration space. A store there may move devices: QEMU then has another map of
 * memory, and ends when it is asked where that store went (QEMU 10.0, iotlb_to_section). So such a
 * store is not asked about; which pages they are was told by the loads before it, which every driver
 * begins with.
 */
#ifndef BOOTSCOPE_CONFIG_SPACE_H
#define BOOTSCOPE_CONFIG_SPACE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the page of vaddr is known as one of them. */
bool bs_config_page(uint64_t vaddr);

/* A load told whether it is. */
void bs_config_note(uint64_t vaddr, bool is);

#endif
