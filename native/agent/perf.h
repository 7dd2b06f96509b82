/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginnings, programs, names and ends of processes out of the kernel's perf events (CONFIG_PERF_EVENTS).
 *
 * The kernel writes them into memory that it shares with us, each with its moment: an event costs no
 * wake-up and no system call, which makes this the cheapest way to know of every process.
 */
#ifndef AGENT_PERF_H
#define AGENT_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tasks.h"

enum { PERF_CPUS = 64 };

struct perf {
	void *rings[PERF_CPUS];
	int fds[PERF_CPUS];
	uint32_t count;
	uint64_t lost;
};

/* False with errno where the kernel has no such thing or denies it. */
bool perf_start(struct perf *p);

/* Moves what has come in to the events of `t`. */
void perf_drain(struct perf *p, struct tasks *t);

/* Takes the records in `size` bytes: what perf_drain() does with each ring. */
void perf_records(struct perf *p, struct tasks *t, const char *data, size_t size);

/* Sleeps so long, or until a ring begins to be full. */
void perf_wait(const struct perf *p, uint64_t ns);

void perf_stop(struct perf *p);

#endif
