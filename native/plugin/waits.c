// SPDX-License-Identifier: GPL-2.0-or-later
#include "waits.h"

/*
 * A CPU that waits for another one looks again after a part of the time that it has waited, within these
 * limits; it has LOOK_NS at least to look and give up its turn again.
 */
#define STEP_PART 8
#define LEAST_STEP_NS 100
#define MOST_STEP_NS 10000
#define LOOK_NS 200

/* How long a CPU's turn may last while all others sleep. */
#define ALONE_NS 1000000

/* Whether another CPU that is awake has not come as far as this turn of it began. */
static bool is_ahead(const struct bs_cpu_time *cpus, unsigned int n, const struct bs_cpu_time *c)
{
	for (unsigned int i = 0; i < n; i++)
		if (!cpus[i].asleep && cpus[i].at_ns < c->turn_ns)
			return true;
	return false;
}

void bs_waits_step(const struct bs_cpu_time *cpus, unsigned int n, struct bs_cpu_time *c)
{
	int64_t look_ns = c->at_ns - c->turn_ns;

	/* A loop takes as long every time; who has done something else in between waits anew. */
	if (!c->waits || look_ns != c->look_ns)
		c->wait_ns = c->at_ns;
	c->look_ns = look_ns;
	int64_t step_ns = (c->at_ns - c->wait_ns) / STEP_PART;
	if (step_ns < LEAST_STEP_NS)
		step_ns = LEAST_STEP_NS;
	if (step_ns > MOST_STEP_NS)
		step_ns = MOST_STEP_NS;
	if (is_ahead(cpus, n, c))
		step_ns = 0;
	c->turn_ns = c->at_ns += step_ns;
	c->stepped_ns += step_ns;
	c->yields = false;
	c->waits = true;
}

/* When a CPU has last done something that others may see. */
static int64_t acted_ns(const struct bs_cpu_time *c)
{
	if (c->asleep)
		return c->sleep_ns;
	return c->waits ? c->wait_ns : c->at_ns;
}

int64_t bs_waits_limit(const struct bs_cpu_time *cpus, unsigned int n, struct bs_cpu_time *c, int64_t quantum_ns)
{
	int64_t last_ns = c->at_ns, limit_ns = c->at_ns + ALONE_NS;

	for (unsigned int i = 0; i < n; i++) {
		const struct bs_cpu_time *other = &cpus[i];

		if (other == c)
			continue;
		if (c->waits && acted_ns(other) > c->at_ns) {
			c->stepped_ns += acted_ns(other) - c->at_ns;
			c->at_ns = acted_ns(other);
		}
		if (other->asleep)
			continue;
		if (other->at_ns < last_ns)
			last_ns = other->at_ns;
		int64_t until_ns = other->waits ? other->at_ns : last_ns + quantum_ns;
		if (until_ns < limit_ns)
			limit_ns = until_ns;
	}
	if (c->waits && limit_ns < c->at_ns + LOOK_NS)
		limit_ns = c->at_ns + LOOK_NS;
	return limit_ns;
}
