// SPDX-License-Identifier: Apache-2.0
#include "collect.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "connector.h"
#include "discover.h"
#include "klog.h"
#include "proc.h"
#include "stop.h"
#include "taskstats.h"
#include "usage.h"

enum {
	CPU_LINE = 256,	      /* more than the first line of /proc/stat ever has */
	DISK_ROOM = 4096,     /* some 40 disks and partitions */
	MEMORY_ROOM = 4096,
	MEMORY_NS = 800000000, /* between two of its blocks at the least */
	MOST_QUIET = 2,	      /* 2^2 periods between samples while no process begins or ends */
};

int open_path(const struct collector *c, const char *path, int flags)
{
	char inside[4096] = "1/root";
	const char *name = path;

	if (c->as_init && *path == '/' && strlen(path) + strlen(inside) < sizeof(inside)) {
		strcpy(inside + strlen(inside), path);
		name = inside;
	}
	return openat(name == inside ? c->proc : AT_FDCWD, name, flags | O_CLOEXEC, 0644);
}

static int open_in(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_CLOEXEC);
}

const char *collect_start(struct collector *c, const struct options *o, bool as_init)
{
	const char *from = o->sources ? o->sources : "all";
	bool all = !strcmp(from, "all");

	c->options = o;
	c->as_init = as_init;
	c->kmsg = -1;
	c->begun_ns = now_ns();
	c->own_pid = (uint32_t)getpid();
	buf_left = (size_t)o->memory_kib * 1024;
	if (!tasks_init(&c->tasks))
		return "no memory";
	c->stat.fd = open_in(c->proc, "stat");
	if (c->stat.fd < 0)
		return "no /proc/stat";
	c->disks.fd = open_in(c->proc, "diskstats");
	c->memory.fd = open_in(c->proc, "meminfo");
	c->memory.due_ns = c->begun_ns + MEMORY_NS;
	c->has_perf = (all || !strcmp(from, "perf")) && perf_start(&c->perf);
	/* Asked for a protocol that it has not, the kernel would start modprobe. */
	bool connector = !c->has_perf && (all || !strcmp(from, "connector"));
	int there = connector ? open_in(c->proc, "net/connector") : -1;
	c->has_connector = there >= 0 && connector_start(&c->connector);
	if (there >= 0)
		close(there);
	c->has_taskstats = strcmp(from, "proc") && taskstats_start(&c->taskstats);
	c->tasks.told = c->has_perf || c->has_connector;
	c->load = c->tasks.told ? -1 : open_in(c->proc, "loadavg");
	if (o->stop_message)
		c->kmsg = klog_open();
	stop_by_signals();
	return NULL;
}

static void sample(struct collector *c)
{
	uint64_t at_ns = now_ns();
	uint32_t from = tasks_events(&c->tasks);

	if (c->has_perf)
		perf_drain(&c->perf, &c->tasks);
	if (c->has_connector)
		connector_drain(&c->connector, &c->tasks);
	tasks_apply(&c->tasks, from);
	if (c->has_taskstats)
		taskstats_drain(&c->taskstats, &c->tasks, at_ns);
	if (!c->tasks.told)
		discover_new(c);
	usage_sample(c);
	log_block(&c->stat, c->own_pid, at_ns, CPU_LINE, true);
	log_block(&c->disks, c->own_pid, at_ns, DISK_ROOM, false);
	log_block(&c->memory, c->own_pid, at_ns, MEMORY_ROOM, false);
	if (c->memory.due_ns < at_ns + MEMORY_NS)
		c->memory.due_ns = at_ns + MEMORY_NS;
	buf_add(&c->times, &at_ns, sizeof(at_ns));
	c->sampled_ns = at_ns;
	c->tasks.sample = ++c->samples;
}

/* When to sample next: later and later while no process begins or ends, as long as a source tells of that. */
static uint64_t next_sample(struct collector *c, uint64_t now, uint32_t events)
{
	uint64_t period_ns = (uint64_t)c->options->period_ms * 1000000u;

	if (!c->tasks.told || events != tasks_events(&c->tasks))
		c->quiet = 0;
	else if (c->quiet < MOST_QUIET)
		c->quiet++;
	uint64_t next_ns = c->sampled_ns + (period_ns << c->quiet);
	/* What was missed is not made up for. */
	return next_ns > now ? next_ns : now + period_ns;
}

static void sleep_until(const struct collector *c, uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
	uint64_t now = now_ns();

	if (!c->has_perf)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	else if (ns > now)
		perf_wait(&c->perf, ns - now);
}

void collect_run(struct collector *c)
{
	uint64_t end_ns = c->begun_ns + (uint64_t)c->options->stop_after_ms * 1000000u;
	uint64_t linger_ns = (uint64_t)c->options->linger_ms * 1000000u;

	c->stopped_by = NULL;
	discover_first(c);
	/* Where nothing waits for it, names are asked for before who has them is gone. */
	if (!c->as_init)
		discover_names(c);
	for (;;) {
		uint32_t events = tasks_events(&c->tasks);

		if (stop_told() || now_ns() >= end_ns)
			/* The last one is whole. */
			c->stat.due_ns = c->disks.due_ns = c->memory.due_ns = 0;
		sample(c);
		uint64_t now = now_ns();

		if (!c->stopped_by) {
			c->stopped_by = stop_reached(c);
			if (c->stopped_by && now + linger_ns < end_ns)
				end_ns = now + linger_ns;
		}
		if (stop_told()) {
			c->stopped_by = "signal";
			break;
		}
		if (now >= end_ns)
			break;
		/* Samples are told apart by hundredths of a second. */
		uint64_t least_ns = now + CENTISECOND_NS, until_ns = next_sample(c, now, events);
		until_ns = until_ns < end_ns ? until_ns : end_ns;
		sleep_until(c, until_ns > least_ns ? until_ns : least_ns);
	}
	if (!c->stopped_by)
		c->stopped_by = "time";
	c->ended_ns = now_ns();
	c->own_cpu_ns = proc_cpu_ns(c->own_pid);
	getrusage(RUSAGE_SELF, &c->own);
	usage_last(c);
}
