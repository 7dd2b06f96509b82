/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data side of the counting pass: what loads and stores find in caches, TLB, and behind them. */
#ifndef BOOTSCOPE_TIMING_DATA_H
#define BOOTSCOPE_TIMING_DATA_H

#include "qemu_api.h"

/* Before anything runs. `tick_ns`: what an instruction takes. */
void bs_timing_data_start(int64_t tick_ns);

/* What was found lately may lie elsewhere by now: the software, or a part of the pass, has switched something. */
void bs_timing_data_forget(void);

/* An access to an I/O port: one to a device. */
void bs_timing_data_port(uint64_t port, bool store);

/* At the translation of an instruction: has its accesses counted. */
void bs_timing_data_translated(struct qemu_plugin_insn *insn);

#endif
