/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A serial port of the 16550 class whose bytes take as long as the line does. What it says of its queue is what a
 * port of the board would, and its interrupt for an empty queue comes when the queue is empty.
 *
 * A loop that asks again and again whether there is room is not run through: its second question is answered when
 * there is.
 */
#ifndef BOOTSCOPE_PACED_SERIAL_H
#define BOOTSCOPE_PACED_SERIAL_H

#include <stdbool.h>

#include "watch.h"

/* Once the machine is complete. False, with a reason on stderr, when it cannot be done. */
bool bs_paced_serial_start(const struct bs_paced *p);

#endif
