/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of several CPUs, held back until no CPU can come up with an earlier one, and given on in the order
 * of their times. Two things stay in the order in which they happened, whatever the times: what one CPU does,
 * and what devices are told. Where a CPU's time is behind by then, the record gets the time of the one before.
 */
#ifndef BOOTSCOPE_LATER_H
#define BOOTSCOPE_LATER_H

#include <stdbool.h>

#include "stream.h"

struct bs_later {
	enum bs_record type;
	int64_t time_ns;
	bool routine;
	unsigned int cpu;
	struct bs_payload payload;
};

typedef void (*bs_later_write)(const struct bs_later *record);

/* Takes a record of a CPU. */
void bs_later_add(enum bs_record type, int64_t time_ns, bool routine, unsigned int cpu,
		  const struct bs_payload *p);

/* Gives on what is not later than `until_ns`. */
void bs_later_release(int64_t until_ns, bs_later_write write);

#endif
