// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include <unistd.h>

#include "cpus.h"
#include "record.h"
#include "stack.h"
#include "timing.h"
#include "turns.h"
#include "usage.h"

static const struct bs_watch *watch;
static struct grid {
	int64_t sample_ns, stack_ns; /* when the next one is due */
} grids[BS_MAX_CPUS];
static int64_t power_off_ns; /* after the end of the recording; 0 while it goes on */

void bs_run_start(const struct bs_watch *w)
{
	watch = w;
	for (size_t i = 0; i < BS_MAX_CPUS; i++)
		grids[i].sample_ns = w->sample_ns;
}

static void power_off(void)
{
	bs_usage_write();
	bs_timing_write();
	/* Not exit(): the handlers of QEMU would wait for the very thread we are on. */
	_exit(0);
}

void bs_run_end(enum bs_end reason, uint32_t id, int64_t now_ns)
{
	bool stopped = reason != BS_END_LIMIT && reason != BS_END_QUIET;

	if (power_off_ns)
		return;
	if (!bs_cpus_one())
		bs_turns_over(now_ns);
	bs_record_end(reason, id, now_ns);
	if (!watch->usage.after_ns || !stopped)
		power_off();
	/* What is known is kept: nothing may ever wake the guest again. */
	bs_usage_stage();
	bs_usage_write();
	power_off_ns = now_ns + watch->usage.after_ns;
}

void bs_run_check(int64_t now_ns)
{
	if (power_off_ns) {
		if (now_ns >= power_off_ns)
			power_off();
		return;
	}
	/* While the clock is adrift, now_ns is too early: nothing ends too soon. */
	if (watch->limit_ns && now_ns >= watch->limit_ns)
		bs_run_end(BS_END_LIMIT, 0, now_ns);
	if (watch->quiet_ns && now_ns - bs_record_last_news_ns() >= watch->quiet_ns)
		bs_run_end(BS_END_QUIET, 0, now_ns);
}

/*
 * Samples lie on a grid of time, and are taken at the start of blocks. Counting instructions would not
 * do: those of a block that a device access breaks off are counted, but run only after it, and are
 * counted again then. Nor would sampling at device accesses: the code between them would be missed.
 */
static void sample(uint64_t pc, int64_t now_ns)
{
	struct bs_payload p = {.size = 0};
	struct grid *next = &grids[bs_cpu()];

	next->sample_ns += watch->sample_ns;
	if (next->sample_ns <= now_ns)
		next->sample_ns = now_ns + watch->sample_ns;
	bs_put_uint(&p, pc);
	bs_record(BS_REC_SAMPLE, now_ns, &p);
	if (!watch->stack.period_ns || now_ns < next->stack_ns)
		return;
	next->stack_ns += watch->stack.period_ns;
	if (next->stack_ns <= now_ns)
		next->stack_ns = now_ns + watch->stack.period_ns;
	bs_stack_record(watch, pc, now_ns);
}

void bs_run_sample(uint64_t pc, int64_t now_ns)
{
	if (watch->sample_ns && now_ns >= grids[bs_cpu()].sample_ns)
		sample(pc, now_ns);
}

int64_t bs_run_sample_due_ns(void)
{
	return watch->sample_ns ? grids[bs_cpu()].sample_ns : INT64_MAX;
}

void bs_run_slept(int64_t slept_ns)
{
	grids[bs_cpu()].sample_ns += slept_ns;
	grids[bs_cpu()].stack_ns += slept_ns;
}
