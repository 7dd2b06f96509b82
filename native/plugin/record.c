// SPDX-License-Identifier: GPL-2.0-or-later
#include "record.h"

#include <stdlib.h>

#include "clock.h"
#include "cpus.h"
#include "flash.h"
#include "later.h"
#include "paced.h"
#include "timing.h"

#define MAX_HELD 4096

static struct {
	struct {
		enum bs_record type;
		int64_t time_ns;
		bool routine;
		unsigned int cpu;
		struct bs_payload payload;
	} held[MAX_HELD];
	size_t n_held;
	int64_t last_ns; /* stamps on disk never go back */
	int64_t news_ns;
	unsigned int cpu; /* that of the record before */
	bool ended;
} rec;

static void name_cpu(unsigned int cpu, int64_t time_ns)
{
	struct bs_payload p = {.size = 0};

	if (cpu == rec.cpu)
		return;
	rec.cpu = cpu;
	bs_put_uint(&p, cpu);
	bs_stream_append(BS_REC_CPU, time_ns, &p);
}

static void write_out(enum bs_record type, int64_t time_ns, bool routine, unsigned int cpu,
		      const struct bs_payload *p)
{
	if (time_ns < rec.last_ns)
		time_ns = rec.last_ns;
	rec.last_ns = time_ns;
	if (!routine)
		rec.news_ns = time_ns;
	name_cpu(cpu, time_ns);
	bs_timing_record(type);
	bs_stream_append(type, time_ns, p);
}

static void keep(enum bs_record type, int64_t time_ns, bool routine, const struct bs_payload *p)
{
	bs_flash_done();
	bs_paced_record();
	if (rec.ended)
		return;
	if (!bs_cpus_one()) {
		bs_later_add(type, time_ns, routine, bs_cpu(), p);
		return;
	}
	if (!bs_clock_adrift()) {
		write_out(type, time_ns, routine, bs_cpu(), p);
		return;
	}
	/* More than fits means the guest runs on without any I/O: its stamps stay provisional. */
	if (rec.n_held == MAX_HELD)
		bs_record_release(0);
	rec.held[rec.n_held].type = type;
	rec.held[rec.n_held].time_ns = time_ns;
	rec.held[rec.n_held].routine = routine;
	rec.held[rec.n_held].cpu = bs_cpu();
	rec.held[rec.n_held++].payload = *p;
}

static bool is_routine(enum bs_record type)
{
	return type == BS_REC_SAMPLE || type == BS_REC_IDLE || type == BS_REC_STACK || type == BS_REC_BYTES ||
	       type == BS_REC_SLEPT || type == BS_REC_CPUS || type == BS_REC_READ;
}

void bs_record(enum bs_record type, int64_t time_ns, const struct bs_payload *p)
{
	keep(type, time_ns, is_routine(type), p);
}

void bs_record_routine(enum bs_record type, int64_t time_ns, const struct bs_payload *p)
{
	keep(type, time_ns, true, p);
}

void bs_record_release(int64_t move_ns)
{
	for (size_t i = 0; i < rec.n_held; i++)
		write_out(rec.held[i].type, rec.held[i].time_ns + move_ns, rec.held[i].routine,
			  rec.held[i].cpu, &rec.held[i].payload);
	rec.n_held = 0;
}

static void write_later(const struct bs_later *r)
{
	write_out(r->type, r->time_ns, r->routine, r->cpu, &r->payload);
}

void bs_record_of(unsigned int cpu, enum bs_record type, int64_t time_ns, const struct bs_payload *p)
{
	if (!rec.ended)
		bs_later_add(type, time_ns, is_routine(type), cpu, p);
}

void bs_record_past(int64_t past_ns)
{
	if (!rec.ended)
		bs_later_release(past_ns, write_later);
}

int64_t bs_record_last_news_ns(void)
{
	return rec.news_ns;
}

void bs_record_end(enum bs_end reason, uint32_t id, int64_t time_ns)
{
	struct bs_payload clock = {.size = 0}, end = {.size = 0};
	uint64_t syncs;
	int64_t worst_ns;

	bs_flash_done();
	bs_paced_record();
	bs_record_release(0);
	bs_record_past(INT64_MAX);
	bs_clock_quality(&syncs, &worst_ns);
	bs_put_uint(&clock, syncs);
	bs_put_sint(&clock, worst_ns);
	write_out(BS_REC_CLOCK, time_ns, true, rec.cpu, &clock);
	bs_put_byte(&end, (uint8_t)reason);
	bs_put_uint(&end, id);
	write_out(BS_REC_END, time_ns, true, rec.cpu, &end);
	rec.ended = true;
}
