/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what a callback saw to a record on disk: stamps that are provisional while the clock is
 * adrift are held back and moved when the jump is known; those of several CPUs are put in order (later.h).
 */
#ifndef BOOTSCOPE_RECORD_H
#define BOOTSCOPE_RECORD_H

#include "stream.h"

void bs_record(enum bs_record type, int64_t time_ns, const struct bs_payload *p);

/* The same for what goes on in a guest that hangs, too: it is no news. */
void bs_record_routine(enum bs_record type, int64_t time_ns, const struct bs_payload *p);

/* The clock was adrift and is not any more: write what was held back, move_ns later. */
void bs_record_release(int64_t move_ns);

/* Where there are several CPUs: of this one, whichever runs. */
void bs_record_of(unsigned int cpu, enum bs_record type, int64_t time_ns, const struct bs_payload *p);

/* Several CPUs: nothing will happen before this time, so what was held back until then is written. */
void bs_record_past(int64_t past_ns);

/* Stamp of the last record that tells of the guest getting on (no samples, no sleep, no routine). */
int64_t bs_record_last_news_ns(void);

/* Writes the clock's quality and the reason; what comes after that is not recorded. */
void bs_record_end(enum bs_end reason, uint32_t id, int64_t time_ns);

#endif
