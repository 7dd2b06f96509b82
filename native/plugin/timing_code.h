/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code side of the counting pass: lines that blocks of instructions lie in, branches, classes. */
#ifndef BOOTSCOPE_TIMING_CODE_H
#define BOOTSCOPE_TIMING_CODE_H

#include "qemu_api.h"
#include "watch.h"

/* Before anything runs. */
void bs_timing_code_start(const struct bs_watch *w);

/* At the translation of a block: has each run of it counted. */
void bs_timing_code_translated(struct qemu_plugin_tb *tb, int64_t now_ns);

#endif
