/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classes of instructions that take longer than others, told by patterns of the watch file, and how often an
 * instruction has to wait for what was loaded right before it. All of that is known when a block is
 * translated: what it holds is counted once, and added each time that it runs.
 */
#ifndef BOOTSCOPE_CLASSES_H
#define BOOTSCOPE_CLASSES_H

#include "hierarchy.h"
#include "opcode.h"

/* What of BS_CLASSES .. BS_CLASSES + BS_N_CLASSES - 1 is in a block, which ends waits for what was loaded. */
void bs_classes_count(const struct bs_timing *watch, struct qemu_plugin_tb *tb, uint8_t counts[BS_N_CLASSES]);

#endif
