/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the watch file for devices that take their time (paced.h); each function returns false for a line
 * that is not understood.
 *
 *   paced-port KIND ID REGISTER_BYTES CLOCK_HZ FIFO_BYTES BYTE_NS  device ID is a serial port: 16550, imx, cadence;
 *                                          a byte takes BYTE_NS until a rate is set
 *   paced-card KIND ID LATENCY_NS BYTES_PER_S  device ID is a card's controller: sunxi-mmc, sdhci, usdhc
 */
#ifndef BOOTSCOPE_WATCH_PACED_H
#define BOOTSCOPE_WATCH_PACED_H

#include "watch.h"
#include "watch_line.h"

bool bs_watch_add_paced_port(struct bs_watch *w, const struct bs_line *l);
bool bs_watch_add_paced_card(struct bs_watch *w, const struct bs_line *l);

#endif
