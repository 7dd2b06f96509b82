// SPDX-License-Identifier: GPL-2.0-or-later
#include "turns.h"

#include <stdio.h>

#include "clock.h"
#include "cpus.h"
#include "parallel.h"
#include "qemu_clock.h"
#include "record.h"
#include "run.h"

#define DEFAULT_QUANTUM_NS 1000

/* Waits are told of when they have come to so much: most are very short. */
#define LONG_WAIT_NS 1000000

static struct {
	int64_t tick_ns;
	uint64_t due_insns; /* of this turn; when to look at what is due */
	bool waits;	    /* the last block may have ended in an instruction that waits */
} turns;

static void set_due(int64_t now_ns)
{
	int64_t due_ns = bs_parallel_limit();

	if (bs_run_sample_due_ns() < due_ns)
		due_ns = bs_run_sample_due_ns();
	/* A turn has far fewer instructions than this. */
	turns.due_insns = UINT32_MAX;
	if (due_ns <= now_ns)
		turns.due_insns = 0;
	else if (due_ns - now_ns < (int64_t)UINT32_MAX * turns.tick_ns)
		turns.due_insns = (uint64_t)((due_ns - now_ns) / turns.tick_ns);
}

static void record_sleep(const struct bs_slept *slept)
{
	struct bs_payload p = {.size = 0};
	int64_t slept_ns = slept->wake_ns - slept->sleep_ns;

	if (slept_ns <= 0)
		return;
	bs_put_uint(&p, (uint64_t)slept_ns);
	bs_record(slept->all ? BS_REC_IDLE : BS_REC_SLEPT, slept->wake_ns, &p);
	if (!slept->all)
		bs_run_slept(slept_ns);
}

/* A CPU that waits in a loop does as little as one that sleeps. */
static void record_wait(int64_t now_ns)
{
	static int64_t waited_ns[BS_MAX_CPUS];
	int64_t *sum_ns = &waited_ns[bs_cpu()], more_ns = bs_parallel_waited_ns();

	*sum_ns += more_ns;
	bs_run_slept(more_ns);
	if (*sum_ns < LONG_WAIT_NS)
		return;
	struct bs_payload p = {.size = 0};
	bs_put_uint(&p, (uint64_t)*sum_ns);
	bs_record(BS_REC_SLEPT, now_ns, &p);
	*sum_ns = 0;
}

static void on_turn(int64_t now_ns)
{
	struct bs_slept slept;

	bs_clock_begin(now_ns);
	bs_record_past(bs_parallel_past());
	while (bs_parallel_slept(&slept))
		record_sleep(&slept);
	record_wait(now_ns);
	turns.waits = false;
	set_due(now_ns);
}

static void on_shorter(void)
{
	turns.due_insns = 0;
}

bool bs_turns_start(const struct bs_watch *w)
{
	struct bs_payload p = {.size = 0};
	int64_t quantum_ns = w->quantum_ns ? w->quantum_ns : DEFAULT_QUANTUM_NS;

	turns.tick_ns = w->tick_ns;
	bs_put_uint(&p, bs_cpus_number());
	bs_put_uint(&p, (uint64_t)quantum_ns);
	bs_record_of(0, BS_REC_CPUS, 0, &p);
	bs_parallel_on_turn(on_turn, on_shorter);
	return bs_parallel_start(w->tick_ns, quantum_ns);
}

bool bs_turns_block(uint64_t insns)
{
	if (turns.waits) {
		turns.waits = false;
		bs_parallel_runs_on();
	}
	return bs_clock_count(insns) > turns.due_insns;
}

void bs_turns_due(uint64_t pc, int64_t now_ns)
{
	bs_qemu_clock_check();
	if (now_ns >= bs_parallel_limit())
		bs_parallel_end_turn();
	bs_run_sample(pc, now_ns);
	bs_run_check(now_ns);
	bs_clock_fold();
	set_due(bs_clock_now(0));
}

void bs_turns_over(int64_t now_ns)
{
	for (unsigned int cpu = 0; cpu < bs_cpus_number(); cpu++) {
		struct bs_payload p = {.size = 0};
		int64_t since_ns;

		if (!bs_parallel_asleep(cpu, &since_ns) || since_ns >= now_ns)
			continue;
		bs_put_uint(&p, (uint64_t)(now_ns - since_ns));
		bs_record_of(cpu, BS_REC_SLEPT, now_ns, &p);
	}
}

static void on_sleep(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	turns.waits = true;
	bs_parallel_sleeps();
}

static void on_yield(unsigned int vcpu, void *udata)
{
	(void)vcpu;
	(void)udata;
	turns.waits = true;
	bs_parallel_yields();
}

void bs_turns_waits(struct qemu_plugin_insn *insn, bool sleeps, bool yields)
{
	if (sleeps || yields)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, sleeps ? on_sleep : on_yield, QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
}
