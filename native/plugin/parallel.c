// SPDX-License-Identifier: GPL-2.0-or-later
#include "parallel.h"

#include "cpus.h"
#include "qemu_api.h"
#include "qemu_clock.h"
#include "waits.h"

static struct {
	struct bs_cpu_time cpu[BS_MAX_CPUS];
	unsigned int number, awake;
	unsigned int turn; /* whose instructions are counted */
	bool on;	   /* the turn goes on, as far as is known */
	int64_t tick_ns, quantum_ns;
	int64_t insns;	 /* of all CPUs, when that was last looked at */
	int64_t past_ns; /* never goes back */
	int64_t limit_ns;
	int64_t read_ns;   /* the latest time that the guest has read */
	int64_t warped_ns; /* by how much QEMU has moved its clock on while all CPUs slept */
	int64_t told_ns;   /* what the other thread counts warps from */
	struct {
		bool over;
		int64_t sleep_ns, wake_ns;
	} rest; /* all CPUs slept */
	void (*begins)(int64_t now_ns);
	void (*shorter)(void);
} par;

/* Gives the instructions since the last look to the CPU whose turn it is. */
static void count_up(void)
{
	int64_t insns = icount_get_raw();

	par.cpu[par.turn].at_ns += (insns - par.insns) * par.tick_ns;
	par.insns = insns;
}

static bool is_idle(unsigned int cpu)
{
	void *qemu_cpu = bs_cpu_object(cpu);

	return (par.cpu[cpu].dozes && !cpu_has_work(qemu_cpu)) || cpu_thread_is_idle(qemu_cpu);
}

static void fall_asleep(struct bs_cpu_time *c)
{
	if (c->asleep)
		return;
	c->asleep = true;
	/* Woken for nothing, it has slept on. */
	if (!c->woken)
		c->sleep_ns = c->at_ns;
	par.awake--;
}

static int64_t last_sleep_ns(void)
{
	int64_t last = par.cpu[0].sleep_ns;

	for (unsigned int i = 1; i < par.number; i++)
		if (par.cpu[i].sleep_ns > last)
			last = par.cpu[i].sleep_ns;
	return last;
}

static void wake(struct bs_cpu_time *c, int64_t at_ns)
{
	if (!c->asleep)
		return;
	c->asleep = false;
	c->woken = true;
	if (at_ns > c->at_ns)
		c->at_ns = at_ns;
	if (!par.awake++) {
		par.rest.sleep_ns = last_sleep_ns();
		par.rest.wake_ns = c->at_ns;
		par.rest.over = true;
	} else if (par.rest.over && c->at_ns < par.rest.wake_ns) {
		par.rest.wake_ns = c->at_ns;
	}
}

/* Between turns: what came of the last one. Does nothing the second time. */
static void look_back(void)
{
	struct bs_cpu_time *c = &par.cpu[par.turn];

	count_up();
	if (c->yields)
		bs_waits_step(par.cpu, par.number, c);
	else if (par.on)
		c->waits = false;
	par.on = false;
	if (!c->asleep && is_idle(par.turn))
		fall_asleep(c);
}

static void raise_past(void)
{
	int64_t first = INT64_MAX, warped_ns = bs_qemu_warped_ns();

	if (warped_ns != par.warped_ns) {
		par.warped_ns = warped_ns;
		if (par.told_ns + warped_ns > par.past_ns)
			par.past_ns = par.told_ns + warped_ns;
	}
	for (unsigned int i = 0; i < par.number; i++)
		if (!par.cpu[i].asleep && par.cpu[i].at_ns < first)
			first = par.cpu[i].at_ns;
	if (first != INT64_MAX && first > par.past_ns)
		par.past_ns = first;
}

static void begin_turn(unsigned int cpu)
{
	struct bs_cpu_time *c = &par.cpu[cpu];

	look_back();
	if (is_idle(cpu)) {
		fall_asleep(c);
	} else {
		/* Where it is not known what woke it, it was something before now. */
		wake(c, par.past_ns);
		par.turn = cpu;
		c->dozes = c->woken_by_main = false;
	}
	raise_past();
	/* The other thread runs timers while all CPUs sleep, and no timer before this one has. */
	__atomic_store_n(&par.told_ns, par.past_ns - par.warped_ns, __ATOMIC_SEQ_CST);
	if (c->asleep)
		return;
	par.on = true;
	par.limit_ns = bs_waits_limit(par.cpu, par.number, c, par.quantum_ns);
	c->turn_ns = c->at_ns;
	par.begins(c->at_ns);
}

/* QEMU's virtual clock. */
static int64_t read_clock(enum bs_moment moment)
{
	switch (moment) {
	case BS_OTHER_THREAD:
		return __atomic_load_n(&par.told_ns, __ATOMIC_SEQ_CST) + bs_qemu_warped_ns();
	case BS_BETWEEN_TURNS:
		look_back();
		raise_past();
		return par.past_ns;
	case BS_TURN_BEGINS:
		begin_turn(bs_cpu());
		return par.cpu[bs_cpu()].at_ns;
	default:
		count_up();
		if (par.cpu[par.turn].at_ns > par.read_ns)
			par.read_ns = par.cpu[par.turn].at_ns;
		return par.read_ns;
	}
}

/* Whether the CPUs' thread has nothing to do but what the other one has just given it. */
static bool all_rest(void)
{
	for (unsigned int i = 0; i < par.number; i++)
		if (!par.cpu[i].woken_by_main && !(par.cpu[i].asleep || (i == par.turn && is_idle(i))))
			return false;
	return true;
}

/* A CPU gets an interrupt: `raise` has QEMU note it. */
static void on_interrupt(enum bs_moment moment, void *qemu_cpu, int mask, void (*raise)(void *cpu, int mask))
{
	unsigned int cpu = bs_cpu_number(qemu_cpu);
	struct bs_cpu_time *c = &par.cpu[cpu];

	if (moment == BS_OTHER_THREAD && !all_rest()) {
		raise(qemu_cpu, mask);
		return;
	}
	if (moment != BS_IN_TURN)
		look_back();
	bool slept = c->asleep;
	raise(qemu_cpu, mask);
	if (!slept || is_idle(cpu))
		return;
	wake(c, moment == BS_IN_TURN ? bs_parallel_now() : read_clock(moment));
	c->woken_by_main = moment == BS_OTHER_THREAD;
	if (moment == BS_IN_TURN && c->at_ns + par.quantum_ns < par.limit_ns) {
		par.limit_ns = c->at_ns + par.quantum_ns;
		par.shorter();
	}
}

bool bs_parallel_start(int64_t tick_ns, int64_t quantum_ns)
{
	par.number = bs_cpus_number();
	par.tick_ns = tick_ns;
	par.quantum_ns = quantum_ns;
	par.insns = icount_get_raw();
	par.past_ns = icount_get();
	par.warped_ns = bs_qemu_warped_ns();
	par.told_ns = par.past_ns - par.warped_ns;
	for (unsigned int i = 0; i < par.number; i++)
		par.cpu[i] = (struct bs_cpu_time){.at_ns = par.past_ns, .sleep_ns = par.past_ns, .asleep = true};
	return bs_qemu_clock_replace("the clock of several CPUs", "with one CPU", read_clock, on_interrupt);
}

int64_t bs_parallel_now(void)
{
	count_up();
	return par.cpu[par.turn].at_ns;
}

int64_t bs_parallel_past(void)
{
	return par.past_ns;
}

int64_t bs_parallel_limit(void)
{
	return par.limit_ns;
}

void bs_parallel_end_turn(void)
{
	par.limit_ns = INT64_MAX;
	cpu_exit(current_cpu);
}

void bs_parallel_sleeps(void)
{
	par.cpu[par.turn].dozes = true;
}

void bs_parallel_yields(void)
{
	par.cpu[par.turn].yields = true;
}

void bs_parallel_runs_on(void)
{
	par.cpu[par.turn].dozes = par.cpu[par.turn].yields = false;
}

bool bs_parallel_slept(struct bs_slept *slept)
{
	struct bs_cpu_time *c = &par.cpu[par.turn];

	if (par.rest.over) {
		*slept = (struct bs_slept){true, par.rest.sleep_ns, par.rest.wake_ns};
		par.rest.over = false;
		return true;
	}
	*slept = (struct bs_slept){false, c->sleep_ns, c->at_ns};
	bool woken = c->woken;
	c->woken = false;
	return woken;
}

bool bs_parallel_asleep(unsigned int cpu, int64_t *since_ns)
{
	*since_ns = par.cpu[cpu].sleep_ns;
	return par.cpu[cpu].asleep;
}

int64_t bs_parallel_waited_ns(void)
{
	int64_t waited_ns = par.cpu[par.turn].stepped_ns;

	par.cpu[par.turn].stepped_ns = 0;
	return waited_ns;
}

void bs_parallel_on_turn(void (*begins)(int64_t now_ns), void (*shorter)(void))
{
	par.begins = begins;
	par.shorter = shorter;
}
