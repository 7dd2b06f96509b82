// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "qemu_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "qemu_api.h"

/* Where the table of functions is looked through, in pointers, and a CPU's object, in bytes. */
#define TABLE_FIRST 8
#define TABLE_LAST 40
#define CPU_FIRST 64
#define CPU_LAST 512

/* Entries between those for interrupts and for the clock, and on to the clock as ticks (QEMU 10.0). */
#define TO_CLOCK 1
#define TO_TICKS 3

static struct {
	const char *what, *otherwise;
	bs_clock_read read;
	bs_interrupt interrupt;
	size_t running_at; /* where a CPU's object says that it runs */
	bool proven;	   /* ... and has said so of the one that ran, and of no other */
	uint64_t reads;
} qc;

static __thread bool of_cpus; /* this is the thread of the CPUs */

static bool runs(const void *cpu)
{
	return *((const volatile bool *)cpu + qc.running_at);
}

/* What cannot be known before a CPU has run: the flag is that of a CPU that runs. */
static void prove(void)
{
	unsigned int running = 0;

	for (unsigned int i = 0; i < bs_cpus_number(); i++)
		running += runs(bs_cpu_object(i));
	if (running == 1 && runs(current_cpu)) {
		qc.proven = true;
		return;
	}
	fprintf(stderr,
		"bootscope plugin: this QEMU does not tell whether a CPU runs as QEMU 10.0 does, which %s needs; "
		"record %s, or with QEMU 10.0\n",
		qc.what, qc.otherwise);
	_exit(1);
}

static enum bs_moment moment(void)
{
	if (!of_cpus)
		return BS_OTHER_THREAD;
	if (runs(current_cpu))
		return BS_IN_TURN;
	/* QEMU gives up its big lock before it asks how many instructions a turn may have, and takes it for all
	 * else between turns. */
	return bql_locked() ? BS_BETWEEN_TURNS : BS_TURN_BEGINS;
}

static int64_t clock_read(void)
{
	qc.reads++;
	return qc.read(moment());
}

static void interrupt(void *cpu, int mask)
{
	qc.interrupt(moment(), cpu, mask, icount_handle_interrupt);
}

void bs_qemu_clock_check(void)
{
	if (!qc.proven)
		prove();
}

int64_t bs_qemu_warped_ns(void)
{
	int64_t insns, clock_ns;

	/* The other thread may find instructions counted between its two looks. */
	do {
		insns = icount_get_raw();
		clock_ns = icount_get();
	} while (insns != icount_get_raw());
	return clock_ns - icount_to_ns(insns);
}

static bool refuse(const char *differs)
{
	fprintf(stderr,
		"bootscope plugin: %s cannot be had with this QEMU (%s is not as in QEMU 10.0); record %s, or with "
		"QEMU 10.0\n",
		qc.what, differs, qc.otherwise);
	return false;
}

/* The entry for interrupts, with those for the clock where they belong; NULL when they are not. */
static void **find_table(void)
{
	void **table = object_class_by_name("tcg-accel-ops"), **found = NULL;

	for (size_t i = TABLE_FIRST; table && i < TABLE_LAST; i++) {
		if (table[i] != (void *)icount_handle_interrupt)
			continue;
		if (found || table[i + TO_CLOCK] != (void *)icount_get || table[i + TO_TICKS] != (void *)icount_get)
			return NULL;
		found = &table[i];
	}
	return found;
}

/* The flag follows the number of the thread, which is this one's for every CPU. 0 when it is not found. */
static size_t find_running(void)
{
	int thread = (int)gettid();
	size_t found = 0;

	for (size_t at = CPU_FIRST; at < CPU_LAST; at += sizeof(thread)) {
		bool all = true;
		for (unsigned int i = 0; i < bs_cpus_number(); i++) {
			const uint8_t *cpu = bs_cpu_object(i);
			int seen;
			memcpy(&seen, cpu + at, sizeof(seen));
			all = all && seen == thread && !cpu[at + sizeof(thread)];
		}
		if (all && found)
			return 0;
		if (all)
			found = at + sizeof(thread);
	}
	return found;
}

bool bs_qemu_clock_replace(const char *what, const char *otherwise, bs_clock_read read, bs_interrupt on_interrupt)
{
	qc.what = what;
	qc.otherwise = otherwise;
	if (!icount_get || !icount_get_raw || !icount_to_ns || !icount_handle_interrupt || !bql_locked ||
	    !cpu_thread_is_idle || !cpu_has_work || !cpu_exit || !object_class_by_name)
		return refuse("what it exports");
	for (unsigned int i = 0; i < bs_cpus_number(); i++)
		if (!bs_cpu_object(i))
			return refuse("the order in which CPUs are made");
	void **table = find_table();
	if (!table)
		return refuse("its table of functions for instruction counting");
	qc.running_at = find_running();
	if (!qc.running_at)
		return refuse("what it keeps of a CPU");
	qc.read = read;
	qc.interrupt = on_interrupt;
	of_cpus = true;
	table[0] = (void *)interrupt;
	table[TO_CLOCK] = table[TO_TICKS] = (void *)clock_read;
	qemu_clock_get_ns(BS_QEMU_CLOCK_VIRTUAL);
	return qc.reads || refuse("how it reads its clock");
}
