/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes by the virtual clock: samples, limits, and the end of the recording. */
#ifndef BOOTSCOPE_RUN_H
#define BOOTSCOPE_RUN_H

#include "stream.h"
#include "watch.h"

void bs_run_start(const struct bs_watch *w);

/* Takes a sample at pc if one is due; and when the next one of the CPU that runs is, INT64_MAX for never. */
void bs_run_sample(uint64_t pc, int64_t now_ns);
int64_t bs_run_sample_due_ns(void);

/* The CPU that runs slept for so long, or waited for a device: it is not sampled then. */
void bs_run_slept(int64_t slept_ns);

/* Ends the recording when a limit is reached. */
void bs_run_check(int64_t now_ns);

/* Ends the recording, and QEMU unless code is counted on. */
void bs_run_end(enum bs_end reason, uint32_t id, int64_t now_ns);

#endif
