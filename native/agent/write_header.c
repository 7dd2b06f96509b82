// SPDX-License-Identifier: Apache-2.0
#include "write_header.h"

#include <string.h>
#include <sys/utsname.h>

#include "cards.h"
#include "proc.h"

enum { TEXT = 4096 };

static void pair(struct buf *b, const char *key, uint64_t value)
{
	buf_str(b, key);
	buf_str(b, " = ");
	buf_num(b, value);
	buf_char(b, '\n');
}

static void pair_text(struct buf *b, const char *key, const char *value)
{
	buf_str(b, key);
	buf_str(b, " = ");
	buf_str(b, value);
	buf_char(b, '\n');
}

/* Puts the value behind `key` in a file of lines "key: value" or "key=value"; nothing when it has none. */
static void value_of(const struct collector *c, const char *path, const char *key, struct buf *b)
{
	char text[TEXT];
	ssize_t size = proc_read(c->proc, path, text, sizeof(text) - 1);

	if (size <= 0)
		return;
	text[size] = 0;
	for (char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, strlen(key)))
			continue;
		char *value = line + strlen(key), *end = strchr(value, '\n');
		value += strspn(value, " \t:=\"");
		end = end ? end : value + strlen(value);
		while (end > value && end[-1] == '"')
			end--;
		buf_add(b, value, (size_t)(end - value));
		return;
	}
}

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static void sources(const struct collector *c, struct buf *b)
{
	buf_str(b, "bootscope.sources =");
	buf_str(b, c->has_perf ? " perf" : "");
	buf_str(b, c->has_connector ? " connector" : "");
	buf_str(b, c->has_taskstats ? " taskstats" : "");
	buf_str(b, " proc\n");
}

static bool cut(const struct collector *c)
{
	return c->tasks.all.cut || c->tasks.live.cut || c->tasks.events.cut || c->tasks.spent.cut ||
	       c->stat.text.cut || c->disks.text.cut || c->memory.text.cut || c->times.cut;
}

static void costs(const struct collector *c, struct buf *b)
{
	const struct tasks *t = &c->tasks;

	pair(b, "bootscope.cost.setup_ns", c->setup_ns);
	pair(b, "bootscope.cost.cpu_ns", c->own_cpu_ns);
	pair(b, "bootscope.cost.user_ns", time_ns(&c->own.ru_utime));
	pair(b, "bootscope.cost.system_ns", time_ns(&c->own.ru_stime));
	pair(b, "bootscope.cost.switches", (uint64_t)c->own.ru_nvcsw);
	pair(b, "bootscope.cost.preemptions", (uint64_t)c->own.ru_nivcsw);
	pair(b, "bootscope.cost.page_faults", (uint64_t)(c->own.ru_minflt + c->own.ru_majflt));
	pair(b, "bootscope.cost.bytes",
	     t->all.used + t->live.used + t->events.used + t->spent.used + c->stat.text.used +
		     c->disks.text.used + c->memory.text.used + c->times.used);
}

void write_header(const struct collector *c, struct buf *b)
{
	struct utsname name;

	pair_text(b, "version", "1.0");
	if (!uname(&name)) {
		buf_str(b, "title = Boot chart for ");
		buf_str(b, name.nodename);
		buf_char(b, '\n');
		buf_str(b, "system.uname = ");
		const char *const parts[] = {name.sysname, name.release, name.version, name.machine};
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			buf_str(b, i ? " " : "");
			buf_str(b, parts[i]);
		}
		buf_char(b, '\n');
	}
	buf_str(b, "system.release = ");
	value_of(c, c->as_init ? "1/root/etc/os-release" : "/etc/os-release", "PRETTY_NAME", b);
	buf_str(b, "\nsystem.cpu = ");
	value_of(c, "cpuinfo", "model name", b);
	buf_str(b, "\nsystem.kernel.options = ");
	proc_append(c->proc, "cmdline", b);
	pair_text(b, "bootscope.agent", AGENT_VERSION);
	sources(c, b);
	pair_text(b, "bootscope.stopped_by", c->stopped_by);
	pair(b, "bootscope.begun_ns", c->begun_ns);
	pair(b, "bootscope.ended_ns", c->ended_ns);
	pair(b, "bootscope.samples", c->samples);
	pair(b, "bootscope.threads", c->tasks.threads);
	pair(b, "bootscope.unseen", c->unseen);
	pair(b, "bootscope.lost", c->perf.lost + c->connector.lost + c->taskstats.lost);
	pair_text(b, "bootscope.memory_limit", cut(c) ? "reached" : "not reached");
	costs(c, b);
	cards(c, b);
}
