// SPDX-License-Identifier: Apache-2.0
#include "write_tasks.h"

#include <string.h>
#include <unistd.h>

#include "proc.h"

/* A process may give itself any name: no line of ours must end in it. */
static void name_text(struct buf *b, const char *name, bool one_word)
{
	for (; *name; name++)
		buf_char(b, (unsigned char)*name < ' ' ? '?' : one_word && *name == ' ' ? '_' : *name);
}

static void maybe(struct buf *b, uint64_t value)
{
	buf_char(b, ' ');
	if (value == UNKNOWN)
		buf_char(b, '-');
	else
		buf_num(b, value);
}

static void event_line(struct buf *b, const struct event *e)
{
	static const char *const words[] = {" start ", " fork ", " exec ", " name ", " exit ", " gone "};

	buf_num(b, e->ns);
	buf_str(b, words[e->kind]);
	buf_num(b, e->pid);
	if (e->kind == EV_FORK) {
		maybe(b, e->other);
	} else if (e->kind == EV_EXIT) {
		maybe(b, e->other == UINT32_MAX ? UNKNOWN : e->other);
		maybe(b, e->spent.cpu_ns);
		maybe(b, e->spent.io_ns);
	} else if (e->name[0] && e->kind != EV_GONE) {
		buf_char(b, ' ');
		name_text(b, e->name, false);
	}
	buf_char(b, '\n');
}

void write_events(const struct collector *c, struct buf *b)
{
	const struct tasks *t = &c->tasks;
	const struct event *events = (void *)t->events.data;
	const uint64_t *times = (void *)c->times.data;
	uint32_t count = tasks_events(t);

	for (uint32_t i = 0; i < c->samples && i < c->times.used / sizeof(*times); i++) {
		buf_num(b, times[i]);
		buf_str(b, " sample ");
		buf_num(b, i);
		buf_char(b, '\n');
	}
	for (uint32_t i = 0; i < tasks_count(t); i++) {
		const struct task *task = tasks_at(t, i);

		/* Of the others a fork has told. */
		if (task->start_ns == UNKNOWN || !task->found)
			continue;
		buf_num(b, task->start_ns);
		buf_str(b, " start ");
		buf_num(b, task->pid);
		maybe(b, task->ppid);
		buf_char(b, ' ');
		name_text(b, task->name, false);
		buf_char(b, '\n');
	}
	for (uint32_t i = 0; i < count; i++)
		event_line(b, &events[i]);
}

static bool begun_by(const struct task *task, uint64_t ns)
{
	return task->start_ns == UNKNOWN || task->start_ns <= ns;
}

static void task_line(const struct task *task, uint64_t cpu_ns, uint64_t io_ns, struct buf *b)
{
	buf_num(b, task->pid);
	maybe(b, task->ppid);
	buf_char(b, ' ');
	name_text(b, task->name[0] ? task->name : "unknown", true);
	maybe(b, cpu_ns);
	maybe(b, io_ns);
	buf_str(b, " 0\n");
}

void write_taskstats(const struct collector *c, struct buf *b)
{
	const uint64_t *times = (void *)c->times.data;
	const struct spent *at = (void *)c->tasks.spent.data;
	size_t left = c->tasks.spent.used / sizeof(*at);
	uint32_t next = 0, count = tasks_count(&c->tasks);

	for (uint32_t i = 0; i < c->times.used / sizeof(*times); i++) {
		buf_num(b, times[i] / CENTISECOND_NS);
		buf_char(b, '\n');
		for (; left && at->sample <= i; at++, left--)
			task_line(tasks_at(&c->tasks, at->task), at->cpu_ns, at->io_ns, b);
		/* Who came and went without a sample is not to be missing where events are not known of. */
		for (; next < count && begun_by(tasks_at(&c->tasks, next), times[i]); next++)
			if (!tasks_at(&c->tasks, next)->listed)
				task_line(tasks_at(&c->tasks, next), 0, 0, b);
		buf_char(b, '\n');
	}
}

/* How programs that are still there were called. */
void write_command_lines(const struct collector *c, struct buf *b)
{
	const uint32_t *live = (void *)c->tasks.live.data;
	struct buf line = {0};

	for (size_t i = 0; i < c->tasks.live.used / sizeof(*live); i++) {
		const struct task *task = tasks_at(&c->tasks, live[i]);
		char path[40], program[256];

		line.used = 0;
		if (!task->live || task->kernel)
			continue;
		proc_path(path, task->pid, "cmdline");
		if (!proc_append(c->proc, path, &line) || memchr(line.data, '\n', line.used))
			continue;
		proc_path(path, task->pid, "exe");
		ssize_t size = readlinkat(c->proc, path, program, sizeof(program));
		if (size <= 0 || memchr(program, '\n', (size_t)size))
			continue;
		buf_num(b, task->pid);
		buf_str(b, "\n:");
		buf_add(b, program, (size_t)size);
		buf_str(b, "\n:");
		buf_add(b, line.data, line.used);
		buf_str(b, "\n\n");
	}
	buf_free(&line);
}
