/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counting pass: what the caches, TLBs and branch prediction of a core would have made of every access
 * of a boot (hierarchy.h, branches.h), following what the software switches on and off. Nothing that the
 * guest can see depends on it, so that its records are those of a pass without, one by one and to the
 * nanosecond. But for samples: these are taken where a block begins, and where QEMU cuts blocks depends on how
 * much is watched in them. So what is counted is joined to the other records, which are called events here.
 *
 * The file: "BSCOUNT1", then numbers in LEB128: how many kinds of counts there are (enum bs_count), how many
 * entries, how many parts. An entry for each event up to which something was counted since the entry before,
 * and for each sample: twice the events since the entry before, plus 1 for a sample, a mask of what was counted, and how often, one number for each bit of the mask. Stores to devices have no entry unless
 * a part begins with them: they come in great numbers, between others. Then for each part the number of its blocks, and for each block, by address: distance from the
 * address before, virtual time of its first translation, instructions begun, mask and numbers.
 */
#ifndef BOOTSCOPE_TIMING_H
#define BOOTSCOPE_TIMING_H

#include "qemu_api.h"
#include "stream.h"
#include "watch.h"

/* False, with a reason on stderr, for caches that are missing, several CPUs, or when there is no memory. */
bool bs_timing_init(struct bs_watch *w);

/* What all that was counted costs so far, by the prices of the watch file. */
const int64_t *bs_timing_waited_ps(void);

/* Something else was waited for, for so long. */
void bs_timing_wait(int64_t ns);

/* An access to an I/O port. */
void bs_timing_port(uint64_t port, bool store);

/* At the translation of a block. */
void bs_timing_block(struct qemu_plugin_tb *tb, int64_t now_ns);

/* A record goes into the stream. */
void bs_timing_record(enum bs_record type);

/* Writes the file, by rename; says so on stderr when that fails. None where the guest's clock passes with prices. */
void bs_timing_write(void);

#endif
