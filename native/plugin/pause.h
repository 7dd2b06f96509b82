/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine stands still at a moment of its virtual clock, for whoever looks at it by QEMU's gdbstub.
 *
 * A timer of that clock does it: under -icount QEMU runs instructions up to the next timer and no further,
 * so that the first one which has not been executed is known to the instruction. The guest sees nothing of
 * it: its time passes with its instructions. It can be told to go on.
 */
#ifndef BOOTSCOPE_PAUSE_H
#define BOOTSCOPE_PAUSE_H

#include <stdbool.h>

#include "watch.h"

/* Once the CPUs are there and none has run. False, with a reason on stderr, for a QEMU that cannot. */
bool bs_pause_start(const struct bs_pause *pause);

#endif
