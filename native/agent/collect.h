/* SPDX-License-Identifier: Apache-2.0 */
/* Collects until told to stop; everything stays in memory. */
#ifndef AGENT_COLLECT_H
#define AGENT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "buf.h"
#include "log.h"
#include "netlink.h"
#include "options.h"
#include "perf.h"
#include "tasks.h"

struct collector {
	const struct options *options;
	bool as_init;
	int proc;
	struct tasks tasks;
	struct perf perf;
	struct netlink connector, taskstats;
	bool has_perf, has_connector, has_taskstats;
	int kmsg;
	struct log stat, disks, memory;
	int load;
	struct buf times; /* uint64_t, of the samples */
	uint32_t samples;
	uint32_t quiet; /* samples in a row that had no event */
	uint64_t sampled_ns;
	uint32_t last_pid;
	uint32_t own_pid;
	uint32_t unseen; /* processes that came and went between two samples */
	uint64_t begun_ns, ended_ns;
	uint64_t setup_ns; /* CPU time as process 1, before the real one began */
	uint64_t own_cpu_ns; /* of the collector, at the end of collecting */
	struct rusage own;
	const char *stopped_by;
};

/* Opens all sources. Returns NULL, or what is missing without which nothing can be collected. */
const char *collect_start(struct collector *c, const struct options *o, bool as_init);

/* Opens a file where process 1 sees it: it may have gone on to another root since. */
int open_path(const struct collector *c, const char *path, int flags);

/* Samples until it is time to stop. */
void collect_run(struct collector *c);

#endif
