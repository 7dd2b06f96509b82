/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the software switches by registers of the CPU: caches, and the translation of addresses ('control' in
 * watch_timing.h). The registers are read again behind each instruction that may have changed them.
 */
#ifndef BOOTSCOPE_CONTROL_H
#define BOOTSCOPE_CONTROL_H

#include <stdbool.h>

#include "qemu_api.h"
#include "watch.h"

/* As the software has switched them. */
struct bs_control {
	bool data, code, translates;
};

/* After each such instruction; `changed`: the registers are others than before. */
typedef void (*bs_control_seen)(const struct bs_control *now, bool changed);

/* Calls `seen` from now on, and returns what is on before any of it; NULL when there is no memory. */
const struct bs_control *bs_control_follow(const struct bs_watch *w, bs_control_seen seen);

/* At the translation of a block, before others that want to know what is on watch it. */
void bs_control_block(struct qemu_plugin_tb *tb);

#endif
