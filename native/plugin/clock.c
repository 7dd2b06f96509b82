// SPDX-License-Identifier: GPL-2.0-or-later
#include "clock.h"

#include "cpus.h"
#include "parallel.h"

#define PS 1000 /* in a nanosecond */

static const int64_t no_wait;

static struct {
	qemu_plugin_u64 counter;
	uint64_t *count;   /* the counter of the only CPU, or `counted` */
	uint64_t counted;  /* by all CPUs, where there are several */
	uint64_t synced; /* what it said when base_ns was true */
	int64_t insn_ps;
	const int64_t *waited_ps; /* beside that of instructions; 0 where nothing is waited for */
	int64_t synced_ps; /* of that, when base_ns was true */
	int64_t base_ns;
	int64_t sleep_ns;
	bool adrift;
	uint64_t syncs;
	int64_t worst_ns;
} clk;

void bs_clock_init(uint32_t tick_ns)
{
	clk.counter.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	clk.counter.offset = 0;
	clk.insn_ps = (int64_t)tick_ns * PS;
	clk.waited_ps = &no_wait;
}

void bs_clock_of_core(int64_t instruction_ps, const int64_t *waited_ps)
{
	clk.insn_ps = instruction_ps;
	clk.waited_ps = waited_ps;
}

/* The scoreboard may move when CPUs are added, so the address is taken once the CPU runs. */
static uint64_t *count(void)
{
	if (!clk.count)
		clk.count = bs_cpus_one() ? qemu_plugin_scoreboard_find(clk.counter.score, 0) : &clk.counted;
	return clk.count;
}

uint64_t bs_clock_count(uint64_t insns)
{
	return clk.counted += insns;
}

void bs_clock_begin(int64_t now_ns)
{
	clk.base_ns = now_ns;
	clk.synced = clk.counted = 0;
}

qemu_plugin_u64 bs_clock_counter(void)
{
	return clk.counter;
}

int64_t bs_clock_now(uint64_t rest)
{
	int64_t insns = (int64_t)(*count() - clk.synced) - (int64_t)rest;

	return clk.base_ns + (insns * clk.insn_ps + *clk.waited_ps - clk.synced_ps) / PS;
}

/* From here on time is `now_ns`, and counts anew. */
static void begin(int64_t now_ns)
{
	clk.base_ns = now_ns;
	clk.synced = *count();
	clk.synced_ps = *clk.waited_ps;
}

void bs_clock_fold(void)
{
	/* Less than a nanosecond goes on waiting. */
	int64_t since_ps = (int64_t)(*count() - clk.synced) * clk.insn_ps + *clk.waited_ps - clk.synced_ps;

	clk.base_ns += since_ps / PS;
	clk.synced = 0;
	clk.synced_ps = *clk.waited_ps - since_ps % PS;
	*count() = 0;
}

void bs_clock_sleep(uint64_t rest)
{
	clk.sleep_ns = bs_clock_now(rest);
	begin(clk.sleep_ns);
	clk.adrift = true;
}

bool bs_clock_adrift(void)
{
	return clk.adrift;
}

static void note_error(int64_t error_ns)
{
	int64_t size = error_ns < 0 ? -error_ns : error_ns;

	clk.syncs++;
	if (size > clk.worst_ns)
		clk.worst_ns = size;
}

struct bs_clock_jump bs_clock_sync(void)
{
	struct bs_clock_jump jump = {.slept = clk.adrift, .sleep_ns = clk.sleep_ns};
	int64_t real_ns = bs_cpus_one() ? qemu_clock_get_ns(BS_QEMU_CLOCK_VIRTUAL) : bs_parallel_now();
	int64_t counted_ns = bs_clock_now(0);

	if (clk.adrift) {
		jump.wake_ns = clk.sleep_ns + (real_ns - counted_ns);
		if (jump.wake_ns < jump.sleep_ns)
			jump.wake_ns = jump.sleep_ns;
	} else {
		note_error(real_ns - counted_ns);
	}
	clk.adrift = false;
	begin(real_ns);
	return jump;
}

void bs_clock_quality(uint64_t *syncs, int64_t *worst_ns)
{
	*syncs = clk.syncs;
	*worst_ns = clk.worst_ns;
}
