// SPDX-License-Identifier: GPL-2.0-or-later
#include "core_clock.h"

#include <stdio.h>

#include "clock.h"
#include "qemu_api.h"
#include "qemu_clock.h"
#include "timing.h"

#define PS 1000 /* in a nanosecond */

static struct {
	int64_t insn_ps;
	const int64_t *waited_ps;
	int64_t told_ps; /* of that, what the other thread knows: it runs timers while the CPU sleeps */
	int64_t due_ns; /* the next timer */
	bool asks; /* for that timer, which QEMU reads the clock for */
	int64_t check_ns; /* the next check */
	qemu_plugin_u64 check;
} core = {.due_ns = INT64_MAX};

static int64_t clock_ns(int64_t waited_ps)
{
	return (icount_get_raw() * core.insn_ps + waited_ps) / PS + bs_qemu_warped_ns();
}

void bs_core_clock_tell(void)
{
	__atomic_store_n(&core.told_ps, *core.waited_ps, __ATOMIC_SEQ_CST);
}

/* A turn begins: QEMU is about to ask when the next timer is due. */
static void find_due(int64_t at_ns)
{
	core.asks = true;
	int64_t left_ns = qemu_clock_deadline_ns_all(BS_QEMU_CLOCK_VIRTUAL, BS_QEMU_ALL_TIMERS);
	core.asks = false;
	core.due_ns = left_ns < 0 ? INT64_MAX : at_ns + left_ns;
}

/* QEMU's virtual clock. */
static int64_t read_clock(enum bs_moment moment)
{
	if (moment == BS_OTHER_THREAD)
		return clock_ns(__atomic_load_n(&core.told_ps, __ATOMIC_SEQ_CST));
	int64_t at_ns = clock_ns(*core.waited_ps);
	if (moment != BS_IN_TURN)
		bs_core_clock_tell();
	if (moment == BS_TURN_BEGINS && !core.asks)
		find_due(at_ns);
	return at_ns;
}

static void on_interrupt(enum bs_moment moment, void *cpu, int mask, void (*raise)(void *cpu, int mask))
{
	(void)moment;
	raise(cpu, mask);
}

bool bs_core_clock_used(const struct bs_watch *w)
{
	return w->timing.price.used || w->n_paced;
}

bool bs_core_clock_start(const struct bs_watch *w)
{
	const struct bs_price *price = &w->timing.price;
	const char *what = w->n_paced ? "the clock of a board" : "the clock of a core";
	const char *otherwise = w->n_paced ? "without guest-clock=board" : "without guest-clock=core";

	if (!bs_core_clock_used(w))
		return true;
	if (!qemu_clock_deadline_ns_all || !qemu_get_cpu) {
		fprintf(stderr,
			"bootscope plugin: this QEMU does not tell when its next timer is due, which %s needs; record "
			"%s, or with QEMU 10.0\n",
			what, otherwise);
		return false;
	}
	core.insn_ps = price->used ? price->instruction_ps : (int64_t)w->tick_ns * PS;
	core.waited_ps = bs_timing_waited_ps();
	bs_clock_of_core(core.insn_ps, core.waited_ps);
	return bs_qemu_clock_replace(what, otherwise, read_clock, on_interrupt);
}

static uint64_t *check(void)
{
	return qemu_plugin_scoreboard_find(core.check.score, 0);
}

static void end_turn(void)
{
	core.due_ns = INT64_MAX;
	bs_qemu_clock_check();
	cpu_exit(current_cpu);
}

void bs_core_clock_block(int64_t now_ns, int64_t period_ns)
{
	if (now_ns >= core.due_ns)
		end_turn();
	if (now_ns < core.check_ns)
		return;
	core.check_ns = now_ns + period_ns;
	*check() = 1;
}

qemu_plugin_u64 bs_core_clock_check(void)
{
	if (!core.check.score)
		core.check.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	return core.check;
}

void bs_core_clock_checked(void)
{
	*check() = 0;
}
