/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code ran, and how often: every block of instructions that QEMU translates has a counter, and
 * the counters are parted into stages of the boot. Written to a file of its own, beside the stream.
 *
 * The file: "BSUSAGE1", then numbers in LEB128: stages, blocks, blocks that found no room, and for
 * each block, by address: distance from the address of the block before, instructions, virtual time
 * of its first translation, how often it was begun in each stage, and how often by the owner that was
 * asked for. A block that a device access breaks off is begun again after it, so that counts are upper
 * bounds; an interrupt belongs to whom it interrupts.
 */
#ifndef BOOTSCOPE_USAGE_H
#define BOOTSCOPE_USAGE_H

#include "qemu_api.h"

#define BS_MAX_STAGES 4

/* False when there is no memory. */
bool bs_usage_init(const char *path);

/* At the translation of a block: has it counted. */
void bs_usage_block(struct qemu_plugin_tb *tb, int64_t now_ns);

/* A new stage begins; past BS_MAX_STAGES the last one goes on. */
void bs_usage_stage(void);

/* Whether what runs from now on runs for the owner that was asked for. */
void bs_usage_owner(bool owns);

/* Writes what is known so far, by rename; says so on stderr when that fails. */
void bs_usage_write(void);

#endif
