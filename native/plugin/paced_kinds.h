/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kinds of devices that can take their time: serial ports (paced_port.h) and controllers of cards
 * (paced_card.h). Each is to be started once the machine is complete, and returns false, with a reason on stderr,
 * when it cannot be done.
 */
#ifndef BOOTSCOPE_PACED_KINDS_H
#define BOOTSCOPE_PACED_KINDS_H

#include "paced_card.h"
#include "paced_port.h"
#include "watch.h"

bool bs_paced_16550_start(const struct bs_paced *p);
bool bs_paced_imx_start(const struct bs_paced *p);	/* the port of NXP's i.MX chips */
bool bs_paced_cadence_start(const struct bs_paced *p); /* Cadence's, in Xilinx' Zynq */

bool bs_paced_sunxi_mmc_start(const struct bs_paced *p); /* Allwinner's */
bool bs_paced_sdhci_start(const struct bs_paced *p);	 /* the SD Association's, and NXP's uSDHC */

#endif
