// SPDX-License-Identifier: GPL-2.0-or-later
#include "later.h"

#include <stdlib.h>
#include <string.h>

#include "cpus.h"

static struct {
	struct bs_later *held; /* by time, and as they came */
	size_t n, room;
	int64_t cpu_ns[BS_MAX_CPUS]; /* of each CPU's record before */
	int64_t device_ns;	     /* of the store before */
} later;

static int64_t in_order(enum bs_record type, int64_t time_ns, unsigned int cpu)
{
	bool device = type == BS_REC_IO || type == BS_REC_TEXT;

	if (time_ns < later.cpu_ns[cpu])
		time_ns = later.cpu_ns[cpu];
	if (device && time_ns < later.device_ns)
		time_ns = later.device_ns;
	if (device)
		later.device_ns = time_ns;
	return later.cpu_ns[cpu] = time_ns;
}

static void make_room(void)
{
	if (later.n < later.room)
		return;
	later.room = later.room ? 2 * later.room : 1024;
	later.held = realloc(later.held, later.room * sizeof(*later.held));
	if (!later.held)
		abort();
}

void bs_later_add(enum bs_record type, int64_t time_ns, bool routine, unsigned int cpu,
		  const struct bs_payload *p)
{
	size_t at = later.n;

	make_room();
	time_ns = in_order(type, time_ns, cpu);
	while (at && later.held[at - 1].time_ns > time_ns)
		at--;
	memmove(&later.held[at + 1], &later.held[at], (later.n - at) * sizeof(*later.held));
	later.held[at] = (struct bs_later){type, time_ns, routine, cpu, *p};
	later.n++;
}

void bs_later_release(int64_t until_ns, bs_later_write write)
{
	size_t done = 0;

	while (done < later.n && later.held[done].time_ns <= until_ns)
		write(&later.held[done++]);
	later.n -= done;
	if (done)
		memmove(later.held, later.held + done, later.n * sizeof(*later.held));
}
